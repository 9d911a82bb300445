// Package advice turns facts about a kernel into findings: a named bottleneck, its evidence in
// numbers, an upper bound on what removing it can gain, and what to do, the most promising first.
//
// Facts come from a profile, from the compiled code, from measured time, declared work and the
// machine's peaks; a fact that nobody knows is absent. The catalogue is data: every entry has
// conditions over facts in the language of package formula, and users add entries of the same form
// in pawl.yaml.
//
//	catalogue, err := advice.Of(spec) // Builtin() where there is no pawl.yaml
//	facts := advice.Gather(advice.Evidence{Profile: p, Seconds: 52e-6})
//	said := catalogue.Judge(facts)
//
// A condition that needs an absent fact decides nothing: the entry is listed among those that could
// not be judged, with what is missing. Bounds are never summed: each says what the kernel could gain
// if this cause alone was gone.
package advice
