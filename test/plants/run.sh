#!/bin/sh
# Compiles, verifies, times and profiles the plants on a machine with a GPU. It needs nvcc, ncu, a C++ compiler and
# python3, and neither Go nor a network.
#
#   OUT=folder test/plants/run.sh [compile] [verify] [time] [metrics] [rules]    default: all, in this order
#
# writes into $OUT: verify.csv, times.csv, launches.csv (the names of ncu's IDs), raw.csv.gz (the metrics of metrics.txt),
# details.csv.gz and sections.csv.gz (the sections that have rules, of the plants and healthy kernels), rules.csv (what ncu's
# own rules say of each) and run.log. WORK keeps what was compiled; PLANTS_SECONDS (330) ends profiling.
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

# profile runs ncu on the rows $2 (all, plants or twins) of the plan in parts, since one process that dies takes its part
# along. The report of part I is $1-I.ncu-rep, its launches are in $1-I.csv.
profile() {
	name=$1 rows=$2 parts=$3
	shift 3
	rm -f "$work/$name"-*
	part=0
	while [ $part -lt "$parts" ]; do
		seconds=$(left)
		if [ "$seconds" -lt 15 ]; then
			say "$name: no time for parts $part to $((parts - 1))"
			break
		fi
		timeout -k 5 "$seconds" ncu --profile-from-start off --replay-mode kernel --target-processes application-only \
			--cache-control all --clock-control none "$@" --log-file "$work/$name-$part.log" -f -o "$work/$name-$part" \
			"$work/driver" plan.txt "$work" profile "$work/$name-$part.csv" $part "$parts" "$rows" || say "$name: part $part ended with $?"
		tail -n 3 "$work/$name-$part.log" >>"$log" || true
		part=$((part + 1))
	done
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
for stage in $stages; do
	say "$stage"
	case $stage in
	compile) compile ;;
	verify) "$work/driver" plan.txt "$work" verify "$out/verify.csv" 2>&1 | tee -a "$log" ;;
	time) "$work/driver" plan.txt "$work" time "$out/times.csv" 2>&1 | tee -a "$log" ;;
	metrics)
		: >"$work/unknown"
		profile metrics all 4 --metrics "$(known)"
		[ ! -s "$work/unknown" ] || say "without $(paste -s -d ' ' "$work/unknown")"
		;;
	rules)
		profile rules plants 3 --section SpeedOfLight --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis \
			--section MemoryWorkloadAnalysis_Chart --section MemoryWorkloadAnalysis_Tables --section SchedulerStats --section WarpStateStats \
			--section InstructionStats --section LaunchStats --section Occupancy --section SourceCounters --section WorkloadDistribution \
			--apply-rules yes
		;;
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
python3 fold.py "$work" "$out" | tee -a "$log"
say "done"
