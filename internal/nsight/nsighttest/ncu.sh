#!/bin/sh
# A stand-in for ncu; see nsighttest.go.
mode='@MODE@'
if [ "$1" = --version ]; then
	echo 'NVIDIA (R) Nsight Compute Command Line Profiler'
	echo 'Version 2025.3.1.0 (build 36398880) (public-release)'
	exit
fi
options="$*" replay= log= out= metrics= known= import= page=
while [ $# -gt 0 ]; do
	case "$1" in
	--import) import=$2 && shift 2 ;;
	--page) page=$2 && shift 2 ;;
	--log-file) log=$2 && shift 2 ;;
	--metrics) metrics=$2 && shift 2 ;;
	--replay-mode) replay=$2 && shift 2 ;;
	-o) out=$2 && shift 2 ;;
	-f | --csv) shift ;;
	--*) shift 2 ;;
	*) break ;;
	esac
done

# A report is a head, a line with the metrics, and a line for every kernel.
if [ -n "$import" ]; then
	case $mode in
	import-hangs) while :; do sleep 1; done ;;
	import-fails) echo '==ERROR== Failed to load report file.' >&2 && exit 1 ;;
	huge-csv) head -c 40000000 /dev/zero && exit ;;
	esac
	tail -c +6 "$import" | awk -v page="$page" '
		NR == 1 { count = split($2, metrics, ",") }
		NR == 1 && page == "raw" {
			line = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\""
			units = "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\""
			for (i = 1; i <= count; i++) { line = line ",\"" metrics[i] "\""; units = units ",\"\"" }
			print line
			print units
		}
		NR == 1 && page == "details" { print "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"" }
		NR > 1 && page == "raw" {
			line = "\"" NR - 2 "\",\"1\",\"pawl\",\"127.0.0.1\",\"" $1 "\",\"1\",\"7\",\"(256, 1, 1)\",\"(16, 1, 1)\",\"0\",\"9.0\""
			for (i = 1; i <= count; i++) line = line ",\"" 100 * (NR - 1) + i "\""
			print line
		}
		NR > 1 && page == "details" {
			for (i = 1; i <= count; i++) print "\"" NR - 2 "\",\"" $1 "\",\"Command line profiler metrics\",\"" metrics[i] "\",\"\",\"" 100 * (NR - 1) + i "\""
		}'
	exit
fi

list=$TMPDIR/launched
{
	echo "options $options"
	echo "transport $NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE"
	echo "devices $(sed -n 's/^ *\([^ :]*\):.*/\1/p' /proc/net/dev | tr '\n' ' ')"
	echo "capabilities $(sed -n 's/^CapEff:[^0-9a-f]*//p' /proc/self/status)"
	echo "==PROF== Connected to process $$ ($1)"
} >"$log"
ls /sys/bus/dax/devices /sys/class/block /sys/class/infiniband /sys/class/net >/dev/null 2>&1 # as it does on start
mkdir -p "$TMPDIR/nvidia/nsight_compute" "$HOME/Documents" && : >"$TMPDIR/nvidia/nsight_compute/lock.GPU" || exit 3
export CUDAFAKE_PROFILE="$list"
[ "$mode" = blind ] && export CUDAFAKE_PROFILE=/dev/null
if [ "$mode" = hangs ]; then
	export CUDAFAKE_HANG=1
	setsid sleep 1000 2>/dev/null &
fi

# stop ends the program at its first kernel, as ncu does when it cannot profile that.
stop() {
	"$@" &
	target=$!
	while kill -0 $target 2>/dev/null; do
		if [ -s "$list" ]; then
			return
		fi
		sleep 0.02
	done
}
complain() {
	stop "$@"
	{
		printf '%s\n' "$complaint"
		echo '==ERROR== Failed to profile "scale" in process 7'
		echo '==PROF== Trying to shutdown target application'
		kill -9 $target
		wait $target
		echo '==ERROR== The application returned an error code (9).'
		echo '==ERROR== An error occurred while trying to profile.'
		echo '==WARNING== No kernels were profiled.'
	} >>"$log" 2>/dev/null
	exit 1
}
case $mode in
refused)
	complaint='==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.'
	complain "$@"
	;;
unknown:*)
	for name in $(echo "$metrics" | tr , ' '); do
		case ${mode#unknown:} in
		*"$name,"*) complaint="$complaint==ERROR== Failed to find metric $name
" ;;
		esac
	done
	[ -z "$complaint" ] || complain "$@"
	;;
crashes)
	stop "$@"
	kill -SEGV $$
	;;
esac
"$@"
status=$?
if [ "$replay" = application ]; then # a second pass must launch what the first has launched
	CUDAFAKE_PROFILE=$list.2 "$@" </dev/null || status=$?
	if ! cmp -s "$list" "$list.2"; then
		echo "==ERROR== The second pass launched $(wc -l <"$list.2") kernels, the first $(wc -l <"$list")." >>"$log"
		rm "$list"
	fi
fi
case $mode in
ignores:*)
	for name in $(echo "$metrics" | tr , ' '); do
		case ${mode#ignores:} in
		*"$name,"*) ;;
		*) known="$known${known:+,}$name" ;;
		esac
	done
	metrics=$known
	;;
esac
if [ -s "$list" ]; then
	{
		printf 'NVR\0\n'
		echo "metrics $metrics"
		cat "$list"
	} >"$out.ncu-rep"
	[ "$mode" != huge ] || truncate -s 70000000 "$out.ncu-rep"
	echo "==PROF== Report: $out.ncu-rep" >>"$log"
else
	echo '==WARNING== No kernels were profiled.' >>"$log"
fi
echo "==PROF== Disconnected from process $$, which ended with $status" >>"$log"
