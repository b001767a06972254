#!/usr/bin/env bash
# Makes the first inputs of a target from the fixtures of the repository: ./seeds.sh TARGET FOLDER
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
number=0

# One input: the bytes of the first argument (as printf reads them), then the files that follow.
seed() {
    number=$((number + 1))
    {
        printf "$1"
        shift
        if (($# > 0)); then cat "$@"; fi
    } >"$folder/seed-$number"
}

# The files of a folder of fixtures that are inputs.
inputs() {
    find "$@" -type f -size -40k ! -name '*.expected.json' ! -name '*.options.json' ! -name '*.md' ! -name '*.py'
}

case $target in
imports)
    for file in $(inputs "$root/fixtures/imports"); do
        seed '' "$file"
        gzip -c "$file" >"$folder/seed-$number.gz"
    done
    ;;
texts)
    for mapping in "$root"/src/import/mapping/presets/*.toml "$root"/fixtures/imports/mapping/*.toml; do
        seed '\0' "$mapping"
        table=${mapping%.toml}.csv
        if [ -e "$table" ]; then seed '\001' "$mapping" <(printf '\0') "$table"; fi
    done
    seed '\002least_samples = 30\nroomy_mean_ratio = 0.4\n'
    seed '\003[default]\ntrust_domain = "a"\n[[tenant]]\nname = "chat-*"\nclass = "latency-sensitive"\nlatency = { quantile = "p99", limit_ms = 50 }\nmay_crash = true\nmemory_limit_mib = 100\npriority = 3\n'
    seed '\004currency = "USD"\n[[gpu]]\nmodel = "H100"\ncount = 16\nprice_per_hour = 2.5\nper_host = 8\nmemory_mib = 49140\n'
    seed '\005currency = "USD"\n[[gpu]]\nmodel = "H100"\nprice_per_hour = 2.5\n'
    seed '\006[[rule]]\ntenant = "a"\npod = "chat-*"\nenvironment = { NAME = "x" }\n[[pod]]\nuid = "0123abcd-0123-0123-0123-0123456789ab"\nnamespace = "ml"\nname = "chat"\n[[container]]\nid = "0123456789abcdef"\nname = "c"\n'
    seed '\007[[tenant]]\nname = "chat"\nrequests_per_s = 12\nservice_ms = 18\nservice_spread = 0.3\nwidth = 0.6\n[[tenant]]\nname = "train"\non_s = 3\noff_s = 7\n'
    for scenario in "$root"/fixtures/scenario/scenarios/*.toml; do seed '\010' "$scenario"; done
    for log in $(inputs "$root/fixtures/imports/kernel-log"); do seed '\011' "$log"; done
    for log in $(inputs "$root/fixtures/imports/mps-log"); do seed '\012' "$log"; done
    seed '\013chat-*-?\0chat-0-1'
    seed '\014 12.5 %%\0%%Y-%%m-%%d %%H:%%M:%%S%%.f'
    seed '\0142026-01-31T12:00:00.250+01:00\0%%s'
    seed '\015chat@0=http://u:p@localhost:8000/metrics#vllm:e2e\0train@GPU-1=steps.csv'
    place=0
    for value in -2h 10s..20s 10m chat=0.4 Europe/Berlin 2026-01-31T12:00:00Z 100ms 80 03:10 1920x1080 20s \
        p99=50ms 2ms chat=20%% chat=10GiB chat=3g 300W A100-40 64MB 2%% 127.0.0.1:0 duty; do
        seed "\\016\\x$(printf %02x $place)$value"
        place=$((place + 1))
    done
    ;;
recordings)
    for file in 0 1 2; do
        for steps in 0 1 2 3 4 5 6 7; do
            seed "\\00$file\\00$steps\\000\\020\\000\\377"
            seed "\\00$file\\00$steps\\200\\020\\000\\377\\002\\100\\001\\377\\377\\377\\377"
            seed "\\00$file\\00$steps\\203\\001\\000"
        done
    done
    ;;
streams)
    # How it is made, width and height, then choices; whole and damaged.
    for made in 1 2; do
        for width in 2 3 4 6; do
            seed "\\00$made\\00$width\\050"'\000\000\000\001\000\144\000\000\000\000\377\000\016\000\000\000\005\000\017\000\000\000\012\000\000\004\020\000\377'
            seed "\\00$made\\00$width\\073"'\000\000\002\003\001\000\144\000\000\000\000\024\000\006\000\000\007\005\000\016\000\010\000\005\000\011\000\001\000'
        done
    done
    ;;
hosts)
    seed '\0007 (python3) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 0 0\0330::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123abcd_0123_0123_0123_0123456789ab.slice/cri-containerd-0123456789ab0123456789ab0123456789ab0123456789ab0123456789ab0123.scope\n\033python3\0-m\0vllm\0--api-key\0x\033Uid:\t1000\t1000\nNSpid:\t7\t1\n\033NAME=abc\0B=c\0\033btime 1767225600\n\033user:x:1000:1000::/home:/bin/sh\n\033{"Name":"/web"}\033\033[[rule]]\ntenant = "t"\ncommand = "*vllm*"\n'
    seed '\0007 (a) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 0 0\0330::/system.slice/docker-0123456789ab0123456789ab0123456789ab0123456789ab0123456789ab0123.scope\n\033'
    seed '\0007 (a) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 0 0\03312:pids:/slurm/uid_1000/job_42/step_0/task_0\n11:memory:/user.slice/user-1000.slice/session-3.scope\n\033'
    kind=3
    for name in smi-list smi-query smi-table gpu-instances compute-instances profiles placements pod-resources objects \
        plugin-config mig-parted-config; do
        for file in $(inputs "$root/fixtures/cluster/$name"); do
            seed '\002' "$file"
            seed "\\x$(printf %02x $kind)" "$file"
        done
        kind=$((kind + 1))
    done
    for file in $(inputs "$root/fixtures/cluster/nodes"); do seed '\002' "$file"; done
    ;;
answers)
    for file in $(inputs "$root/fixtures/imports/prometheus-json"); do
        seed '\000' "$file"
        seed '\005' "$file"
        seed '\006HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' "$file"
    done
    seed '\005{"status":"success","data":["up"]}\0{"status":"error","errorType":"x","error":"too many samples"}\0{"status":"success","data":{"resultType":"matrix","result":[]}}'
    seed '\006HTTP/1.1 429 Too Many\r\nRetry-After: 3\r\nConnection: close\r\n\r\n{"error":"busy"}'
    seed '\006HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n{"sta\r\n0\r\n\r\n'
    seed '\006HTTP/1.1 302 Found\r\nLocation: http://u:p@x/\r\n\r\n'
    for file in $(inputs "$root/fixtures/imports/prometheus-text"); do
        seed '\003' "$file"
        seed '\007' "$file"
    done
    page='# TYPE vllm:e2e_request_latency_seconds histogram\nvllm:e2e_request_latency_seconds_bucket{le="0.1"} A\nvllm:e2e_request_latency_seconds_bucket{le="+Inf"} B\nvllm:e2e_request_latency_seconds_sum 3\nvllm:e2e_request_latency_seconds_count B\nvllm:num_requests_waiting{engine="0"} 3\nvllm:generation_tokens_total 40B\n'
    seed "\\007$(sed 's/A/1/; s/B/4/g' <<<"$page")\\0$(sed 's/A/5/; s/B/9/g' <<<"$page")\\0$(sed 's/A/9/; s/B/30/g' <<<"$page")"
    ;;
names)
    for form in 0 1 2 3 4 5 6 7; do
        seed "\\00$form"'chat\0train\0python3\0host-1\0load\0GPU-1\0003g.40gb'
        seed "\\00$form"'=HYPERLINK("x")\0</script><script>alert(1)\0quote"},{"ph":"B\\\\\0-2+3\0line\nbreak\r\n"} 1\0@gpu,"0\0<img src=x>'
        seed "\\00$form"'a\033[2Jb\0\342\200\256gpj\0\001\0\357\273\277\0# EOF\0&amp;<b>\0\0'
    done
    ;;
commands)
    for command in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
        start="\\x$(printf %02x $command)"
        seed "$start\\000"
        for option in 16 32 48 64 80 96; do
            seed "$start\\000\\377\\x$(printf %02x $option)\\001\\003\\377\\x$(printf %02x $((option + 7)))\\001\\021"
        done
    done
    ;;
*)
    echo "no target is called $target" >&2
    exit 2
    ;;
esac
