# Spur's commands. Printed from the table of options; `cargo xtask docs` writes it anew.

# The options of a tool; a value follows those that end in "=".
_spur_options() {
    case $1 in
    sbatch) echo '--account= -A= --acctg-freq= --array= -a= --autocomplete= --batch= --bb= --bbf= --begin= -b= --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --delay-boot= --dependency= -d= --distribution= -m= --error= -e= --exclude= -x= --exclusive --export= --export-file= --external --extra= --extra-node-info= -B= --get-user-env --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --hint= --hold -H --ignore-pbs --input= -i= --job-name= -J= --kill-on-invalid-dep= --licenses= -L= --mail-type= --mail-user= --max-restarts= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --network= --nice --no-kill -k --no-requeue --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --open-mode= --output= -o= --overcommit -O --oversubscribe -s --parsable --partition= -p= --power= --prefer= --priority= --profile= --propagate --qos= -q= --quiet -Q --reboot --requeue --reservation= --resources= --restart-delay= --restart-on= --resv-ports --segment= --signal= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --test-only --thread-spec= --threads-per-core= --time= -t= --time-min= --tmp= --tres-bind= --tres-per-task= --uid= --usage --use-min-nodes --verbose -v --version -V --wait -W --wait-all-nodes= --wckey= --wrap=' ;;
    srun) echo '--accel-bind= --account= -A= --acctg-freq= --autocomplete= --bb= --bbf= --bcast --bcast-exclude= --begin= -b= --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --compress --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-bind= --cpu_bind= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --debugger-test --delay-boot= --dependency= -d= --disable-status -X --distribution= -m= --epilog= --error= -e= --exact --exclude= -x= --exclusive --export= --external-launcher --extra= --extra-node-info= -B= --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --het-group= --pack-group= --hint= --hold -H --immediate -I --input= -i= --interactive --job-name= -J= --jobid= --kill-on-bad-exit -K --label -l --licenses= -L= --mail-type= --mail-user= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --mpi= --msg-timeout= --multi-prog --network= --nice --no-allocate -Z --no-kill -k --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --open-mode= --output= -o= --overcommit -O --overlap --oversubscribe -s --partition= -p= --power= --prefer= --preserve-env -E --priority= --profile= --prolog= --propagate --pty --qos= -q= --quiet -Q --quit-on-interrupt --reboot --relative= -r= --reservation= --resources= --resv-ports --segment= --send-libs --signal= --slurmd-debug= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --task-epilog= --task-prolog= --test-only --thread-spec= --threads= -T= --threads-per-core= --time= -t= --time-min= --tmp= --treewidth= --tres-bind= --tres-per-task= --uid= --unbuffered -u --usage --use-min-nodes --verbose -v --version -V --wait= -W= --wait-for-children --wckey= --whole --x11' ;;
    salloc) echo '--account= -A= --acctg-freq= --autocomplete= --bb= --bbf= --begin= -b= --bell --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --delay-boot= --dependency= -d= --distribution= -m= --exclude= -x= --exclusive --extra= --extra-node-info= -B= --get-user-env --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --hint= --hold -H --immediate -I --job-name= -J= --kill-command -K --licenses= -L= --mail-type= --mail-user= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --network= --nice --no-bell --no-kill -k --no-shell --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --overcommit -O --oversubscribe -s --partition= -p= --power= --prefer= --priority= --profile= --qos= -q= --quiet -Q --reboot --reservation= --resources= --resv-ports --segment= --signal= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --thread-spec= --threads-per-core= --time= -t= --time-min= --tmp= --tres-bind= --tres-per-task= --uid= --usage --use-min-nodes --verbose -v --version -V --wait-all-nodes= --wckey= --x11' ;;
    esac
}

# The words that the value of a tool's option can be.
_spur_values() {
    case $1:$2 in
    sbatch:--exclusive) echo 'user mcs topo' ;;
    sbatch:--export) echo 'ALL NONE' ;;
    sbatch:--kill-on-invalid-dep) echo 'yes no' ;;
    sbatch:--oom-kill-step) echo '0 1' ;;
    sbatch:--open-mode) echo 'append truncate' ;;
    sbatch:--profile) echo 'all none' ;;
    sbatch:--wait-all-nodes) echo '0 1' ;;
    srun:--accel-bind) echo 'g n' ;;
    srun:--exclusive) echo 'user mcs topo' ;;
    srun:--export) echo 'ALL NONE' ;;
    srun:--kill-on-bad-exit|srun:-K) echo '0 1' ;;
    srun:--oom-kill-step) echo '0 1' ;;
    srun:--open-mode) echo 'append truncate' ;;
    srun:--profile) echo 'all none' ;;
    srun:--send-libs) echo 'yes no' ;;
    srun:--x11) echo 'all first last' ;;
    salloc:--exclusive) echo 'user mcs topo' ;;
    salloc:--oom-kill-step) echo '0 1' ;;
    salloc:--profile) echo 'all none' ;;
    salloc:--wait-all-nodes) echo '0 1' ;;
    salloc:--x11) echo 'all first last' ;;
    esac
}

# Completes a word of a submission tool whose options begin at a place in the line.
_spur_submission() {
    local tool=$1 at=$2 current=${COMP_WORDS[COMP_CWORD]} option word known
    known=" $(_spur_options "$tool") "
    while ((at < COMP_CWORD)); do
        word=${COMP_WORDS[at]}
        option=
        case $word in
        # What comes after is the program's, and bash completes it as files.
        --) return ;;
        -?*)
            # bash takes "--name=value" apart into three words.
            if [[ ${COMP_WORDS[at + 1]} == = ]]; then
                option=$word
                ((at += 3))
            elif [[ $known == *" $word= "* ]]; then
                option=$word
                ((at += 2))
            else
                ((at += 1))
            fi
            ;;
        *) return ;;
        esac
    done
    if ((at > COMP_CWORD)); then
        [[ $current == = ]] && current=
        mapfile -t COMPREPLY < <(compgen -W "$(_spur_values "$tool" "$option")" -- "$current")
    elif [[ $current == -* ]]; then
        # A letter's value follows without "=".
        known=$(sed -E 's/ (-[A-Za-z])=/ \1/g' <<<"$known")
        mapfile -t COMPREPLY < <(compgen -W "$known" -- "$current")
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
    fi
}

_spur() {
    COMPREPLY=()
    local name=${COMP_WORDS[0]##*/}
    case $name in
    sbatch|srun|salloc) _spur_submission "$name" 1 ;;
    *)
        if ((COMP_CWORD == 1)); then
            mapfile -t COMPREPLY < <(compgen -W 'up down env init token join audit config controllers status top health doctor submit queue cancel nodes history show why plan logs run alloc exec wait watch version help sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol scrontab sdiag seff sinfo sprio squeue sreport srun sshare sstat strigger' -- "${COMP_WORDS[1]}")
        else
            case ${COMP_WORDS[1]} in
            sbatch|srun|salloc) _spur_submission "${COMP_WORDS[1]}" 2 ;;
            esac
        fi
        ;;
    esac
}

complete -o bashdefault -o default -F _spur spur sbatch srun salloc
