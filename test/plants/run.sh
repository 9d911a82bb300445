#!/bin/sh
# Compiles, verifies, times and profiles the plants on a machine with a GPU. It needs nvcc, ncu, a C++ compiler and
# python3, and neither Go nor a network.
#
#   OUT=folder [HELD=1] test/plants/run.sh [compile] [verify] [time] [metrics] [rules]    default: all, in this order
#
# HELD=1 runs only faces that key.csv holds out and those of testdata/h200/pending.txt, with their twins, and takes all others
# from testdata/h200; whoever copies the recording there empties pending.txt. The stage large-rules is rules without the small
# sizes, which the score can do without.
#
# writes into $OUT, all of it CSV in gzip's format: the recording (verify, times, launches with the names of ncu's IDs, raw with
# the metrics of metrics.txt, rules with what ncu's own rules say of each), details and sections (the sections that have rules,
# of the plants and healthy kernels), and run.log. It ends with the score, by go or by the program that PLANTS_SCORE names
# (go test -c ./test/plants/score). The recording goes to testdata/h200. WORK keeps what was compiled; PLANTS_SECONDS (330)
# ends profiling.
set -eu
cd "$(dirname "$0")"
out=${OUT:?a folder for the results}
work=${WORK:-$(mktemp -d)}
arch=${PLANTS_ARCH:-sm_90}
stages=${*:-compile verify time metrics rules}
began=$(date +%s)
limit=${PLANTS_SECONDS:-330}
mkdir -p "$out" "$work"
log=$out/run.log
: >"$log"

say() { echo "[$(($(date +%s) - began)) s] $*" | tee -a "$log"; }
left() { echo $((limit - $(date +%s) + began)); }

# chosen writes the part of the plan that is to run.
chosen() {
	if [ -z "${HELD:-}" ]; then
		cat plan.txt
		return
	fi
	{ grep ,held-out, key.csv | cut -d , -f 1; cat testdata/h200/pending.txt; } | awk '
		NR == FNR { wanted[$1]; next }
		$1 == "kernel" { face = $2; sub(/_fixed$/, "", face); on = face in wanted }
		on' - plan.txt
}

compile() {
	printf '%s\n' ./*.cu driver/helpers.cu | xargs -P "$(nproc)" -I '{}' sh -c '
		stem=$(basename "$1" .cu)
		if ! nvcc -arch="$2" -std=c++17 -lineinfo -cubin -Xptxas -v -o "$3/$stem.cubin" "$1" >"$3/$stem.ptxas" 2>&1; then
			cat "$3/$stem.ptxas"
			exit 1
		fi' compile '{}' "$arch" "$work"
	nvcc -std=c++17 -O2 -o "$work/driver" driver/driver.cpp -ldl
	cat "$work"/*.ptxas >>"$log"
}

# profile runs ncu on the rows $2 (all, plants or twins) of the plan, at one size $3 if it is not empty, in $4 parts, since one
# process that dies takes its part along. The report of part I is $1-I.ncu-rep, its launches are in $1-I.csv; the first is
# number $5.
profile() {
	name=$1 rows=$2 size=$3 parts=$4 first=$5
	shift 5
	part=0
	while [ $part -lt "$parts" ]; do
		seconds=$(left) at=$work/$name-$((first + part))
		if [ "$seconds" -lt 15 ]; then
			say "$name $size: no time for parts $part to $((parts - 1))"
			break
		fi
		timeout -k 5 "$seconds" ncu --profile-from-start off --replay-mode kernel --target-processes application-only \
			--cache-control all --clock-control none "$@" --log-file "$at.log" -f -o "$at" \
			"$work/driver" "$work/plan.txt" "$work" profile "$at.csv" $part "$parts" "$rows" ${size:+"$size"} || say "$name $size: part $part ended with $?"
		tail -n 3 "$at.log" >>"$log" || true
		part=$((part + 1))
	done
}

# rules profiles what ncu's rules read. Large ones come first: what there is no time for is the same once more.
rules() {
	profile rules plants "$1" 2 "$2" --section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis \
		--section MemoryWorkloadAnalysis_Chart --section MemoryWorkloadAnalysis_Tables --section SchedulerStats --section WarpStateStats \
		--section InstructionStats --section LaunchStats --section Occupancy --section SourceCounters --section WorkloadDistribution \
		--apply-rules yes
}

# known lists the metrics of metrics.txt that this ncu and GPU have: one unknown name, and ncu profiles nothing. Where the
# list of the GPU's metrics cannot be read it names all of them.
known() {
	ncu --query-metrics 2>/dev/null | tr -s ' ",\t' '\n' | sort -u >"$work/known"
	while read -r metric; do
		case $metric in
		*.*) if grep -qxF "${metric%%.*}" "$work/known"; then echo "$metric"; else echo "$metric" >>"$work/unknown"; fi ;;
		*) echo "$metric" ;; # of the launch; ncu does not list these
		esac
	done <metrics.txt >"$work/metrics"
	if [ "$(wc -l <"$work/metrics")" -lt 80 ]; then cp metrics.txt "$work/metrics"; fi
	paste -s -d , "$work/metrics"
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader >>"$log" 2>&1 || true
{ nvcc --version && ncu --version; } 2>&1 | grep -i -E 'release|version' >>"$log" || true
chosen >"$work/plan.txt"
for stage in $stages; do
	say "$stage"
	case $stage in
	compile) compile ;;
	verify) "$work/driver" "$work/plan.txt" "$work" verify "$work/verify.csv" 2>&1 | tee -a "$log" ;;
	time) "$work/driver" "$work/plan.txt" "$work" time "$work/times.csv" 2>&1 | tee -a "$log" ;;
	metrics)
		: >"$work/unknown"
		rm -f "$work"/metrics-*
		profile metrics all "" 4 0 --metrics "$(known)"
		[ ! -s "$work/unknown" ] || say "without $(paste -s -d ' ' "$work/unknown")"
		;;
	rules) rm -f "$work"/rules-* && rules large 0 && rules small 2 ;;
	large-rules) rm -f "$work"/rules-* && rules large 0 ;;
	*) say "$stage is not a stage" && exit 2 ;;
	esac
done
for name in metrics rules; do
	for report in "$work/$name"-*.ncu-rep; do
		[ -e "$report" ] || continue
		for page in raw details; do
			ncu --import "$report" --csv --page $page --print-units base >"${report%.ncu-rep}.$page" 2>>"$log" || say "cannot import $report"
		done
	done
done
python3 fold.py "$work" "$out" ${HELD:+testdata/h200} | tee -a "$log"
if [ -n "${PLANTS_SCORE:-}" ] || command -v go >/dev/null; then
	PLANTS_OUT=$(cd "$out" && pwd)
	export PLANTS_OUT
	(cd score && if [ -n "${PLANTS_SCORE:-}" ]; then "$PLANTS_SCORE" -test.run '^TestPlants$' -test.v; else go test -count=1 -run '^TestPlants$' -v .; fi) 2>&1 | tee -a "$log"
else
	say "no go here: the score is printed by PLANTS_OUT=$out go test -v -run TestPlants ./test/plants/score"
fi
say "done"
