"""Samples by events of a GPU."""

import time

from .clock import unhooked


class Events:
    """Samples by events on the current stream of a GPU. The frameworks give:
    event, elapsed, sleep, write, read, hold, join, synchronize.

    Other streams need care: they do not wait for the blocker, so that work on them
    could be done before its sample begins. Streams that the framework knows of are
    held until then and waited for at the end. A function that leaves work on any
    other is found out on an idle device, and measured on one."""

    device = True
    chunk, words = 1 << 22, 1 << 20
    weights = None
    flush_name = "write 2×L2, read 2×L2"
    blocked = 10e-3  # seconds; a function that takes this long behind a blocker waits for it
    most_hidden = 50e-3
    # Seconds beyond what waiting for an idle device takes. The host needs tens of
    # microseconds more for it now and then, and after many launches always.
    stray_least, stray_share = 50e-6, 0.05  # the latter of the time until then
    stray_requests, stray_samples = 3, 5  # the former in a row, of the latter at least together
    joined_least = 10e-6  # seconds that events are apart

    def start_events(self):
        self.began, self.ended, self.own = self.event(), self.event(), self.event()
        self.hide = 0.0  # seconds that a blocker keeps the device from starting
        self.waits = False  # the function waits for the device
        self.strays = False  # it leaves work on streams that nobody knows of
        self.rest = []  # seconds that the device went on after a sample's stream
        self.lasted = []  # seconds that the sample took until then
        self.recent = []  # both, of the last requests that were too short to tell
        self.lingered = 0  # requests in a row after which it went on for long
        self.joined = []  # seconds that its stream waited for others at its end, where the blocker hid the host
        self.exposed = 0
        self.unhidden = False  # samples begin on an idle device: the host's part is in them
        self.idle = self.pair = 0.0

    def settle(self, call, repeat, ready):
        """Finds how long queueing a call takes, so that a blocker can hide it; what
        a pair of events with nothing between them takes, which is subtracted from
        every sample; what an empty kernel costs; and whether the function strays."""
        self.synchronize()
        longest = 0.0
        self.waits = self.strays = False
        for _ in range(3):
            ready()
            self.sleep(self.blocked)
            start = time.perf_counter()
            call()
            longest = max(longest, time.perf_counter() - start)
            self.synchronize()
            if longest > 0.8 * self.blocked:
                self.waits = True  # it synchronises, or is that slow on the host
                break
        self.hide = 0.0 if self.waits else min(self.most_hidden, 2 * longest * repeat + 60e-6)
        self.pair = median(self.once(int, 1, True, int) for _ in range(31))
        overhead = median(self.once(self.launch_nothing, 1, True, int) for _ in range(31)) - self.pair
        self.strays = True
        self.strays = all(self.lingers(call, ready) for _ in range(self.stray_requests))
        self.forget_samples()
        self.recent, self.lingered = [], 0
        return overhead

    def lingers(self, call, ready):
        """Whether the device goes on after the stream, by a few calls on an idle one."""
        self.forget_samples()
        for _ in range(15):
            self.once(int, 1, False, int)
        self.idle = max(self.rest)
        self.forget_samples()
        for _ in range(7):
            self.once(call, 1, False, ready)
        return self.beyond(self.idle, list(zip(self.rest, self.lasted)))

    def beyond(self, idle, samples):
        """Whether the device went on after the stream for longer than an idle one
        may seem to."""
        rest, lasted = (median(values) for values in zip(*samples))
        return rest - idle > max(self.stray_least, self.stray_share * lasted)

    def forget_samples(self):
        self.rest, self.lasted, self.joined, self.exposed = [], [], [], 0

    def launch_nothing(self):
        self.sleep(0)

    def begin(self):
        pass

    def idles(self, repeat):
        """How long the device seems to go on after launches of nothing, now: the host
        may have become slower since settle. The function is not asked again, which
        would know what for."""
        taken = self.rest, self.lasted, self.joined, self.exposed
        self.forget_samples()
        for _ in range(15):
            self.once(self.launch_nothing, repeat, self.cold, int)
        idle = median(self.rest)
        self.rest, self.lasted, self.joined, self.exposed = taken
        return idle

    def once(self, call, repeat, cold, ready):
        self.cold = cold
        alone = self.strays or self.unhidden
        if self.hide and not alone:
            self.sleep(self.hide)
        ready()
        if cold:
            self.write()
            self.read()
        if alone:
            self.synchronize()
        self.began.record()
        self.hold(self.began)
        for _ in range(repeat):
            call()
        unhooked()
        joined = self.join()
        self.ended.record()
        waited = self.began.query()  # done already: the device has waited for the host
        if waited and not self.unhidden:
            self.exposed += 1
            if not self.waits and not self.strays:
                self.hide = min(self.most_hidden, 2 * self.hide + 50e-6)
        self.ended.synchronize()
        start = time.perf_counter()
        self.synchronize()
        self.rest.append(time.perf_counter() - start)
        if joined and not waited:
            self.joined.append(self.elapsed(self.own, self.ended))
        self.lasted.append(max(self.elapsed(self.began, self.ended), 1e-9))
        return self.lasted[-1]

    def finish(self, seconds, repeat):
        """Counts what the function left on other streams. Those that were waited
        for are in the time already."""
        doubts = {"pair_s": self.pair}
        seconds = [max(s - self.pair / repeat, 1e-9) for s in seconds]
        idle, lingers = self.idle, False
        if self.joined and median(self.joined) - self.pair > self.joined_least:
            doubts["other_streams"] = True
        # A late answer of the host is no work, nor is a host that is late for a while:
        # what lasts that long is counted, and called work when it goes on.
        self.recent += zip(self.rest, self.lasted)
        if len(self.recent) >= self.stray_samples:
            if not self.strays and self.beyond(idle, self.recent):
                idle = max(idle, self.idles(repeat))
                lingers = self.beyond(idle, self.recent)
            self.recent, self.lingered = [], self.lingered + 1 if lingers else 0
            self.strays = self.strays or self.lingered >= self.stray_requests  # from now on
        if self.strays or lingers:
            seconds = [s + max(0.0, rest - idle) / repeat for s, rest in zip(seconds, self.rest)]
        if self.strays:
            doubts["other_streams"] = True
        elif lingers:
            self.exposed = len(seconds)  # to the host, as far as is known
        if self.exposed:
            doubts["exposed"] = self.exposed
        self.forget_samples()
        return seconds, doubts


def median(values):
    values = sorted(values)
    return values[len(values) // 2]
