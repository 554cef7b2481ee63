# Spur's commands. Printed from the table of options; `cargo xtask docs` writes it anew.

# The options of a tool; a value follows those that end in "=".
_spur_options() {
    case $1 in
    sbatch) echo '--account= -A= --acctg-freq= --array= -a= --autocomplete= --batch= --bb= --bbf= --begin= -b= --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --delay-boot= --dependency= -d= --distribution= -m= --error= -e= --exclude= -x= --exclusive --export= --export-file= --external --extra= --extra-node-info= -B= --get-user-env --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --hint= --hold -H --ignore-pbs --input= -i= --job-name= -J= --kill-on-invalid-dep= --licenses= -L= --mail-type= --mail-user= --max-restarts= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --network= --nice --no-kill -k --no-requeue --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --open-mode= --output= -o= --overcommit -O --oversubscribe -s --parsable --partition= -p= --power= --prefer= --priority= --profile= --propagate --qos= -q= --quiet -Q --reboot --requeue --reservation= --resources= --restart-delay= --restart-on= --resv-ports --segment= --signal= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --test-only --thread-spec= --threads-per-core= --time= -t= --time-min= --tmp= --tres-bind= --tres-per-task= --uid= --usage --use-min-nodes --verbose -v --version -V --wait -W --wait-all-nodes= --wckey= --wrap=' ;;
    srun) echo '--accel-bind= --account= -A= --acctg-freq= --autocomplete= --bb= --bbf= --bcast --bcast-exclude= --begin= -b= --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --compress --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-bind= --cpu_bind= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --debugger-test --delay-boot= --dependency= -d= --disable-status -X --distribution= -m= --epilog= --error= -e= --exact --exclude= -x= --exclusive --export= --external-launcher --extra= --extra-node-info= -B= --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --het-group= --pack-group= --hint= --hold -H --immediate -I --input= -i= --interactive --job-name= -J= --jobid= --kill-on-bad-exit -K --label -l --licenses= -L= --mail-type= --mail-user= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --mpi= --msg-timeout= --multi-prog --network= --nice --no-allocate -Z --no-kill -k --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --open-mode= --output= -o= --overcommit -O --overlap --oversubscribe -s --partition= -p= --power= --prefer= --preserve-env -E --priority= --profile= --prolog= --propagate --pty --qos= -q= --quiet -Q --quit-on-interrupt --reboot --relative= -r= --reservation= --resources= --resv-ports --segment= --send-libs --signal= --slurmd-debug= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --task-epilog= --task-prolog= --test-only --thread-spec= --threads= -T= --threads-per-core= --time= -t= --time-min= --tmp= --treewidth= --tres-bind= --tres-per-task= --uid= --unbuffered -u --usage --use-min-nodes --verbose -v --version -V --wait= -W= --wait-for-children --wckey= --whole --x11' ;;
    salloc) echo '--account= -A= --acctg-freq= --autocomplete= --bb= --bbf= --begin= -b= --bell --chdir= -D= --cluster-constraint= --clusters= --cluster= -M= --comment= --consolidate-segments --constraint= -C= --container= --container-id= --context= --contiguous --core-spec= -S= --cores-per-socket= --cpu-freq= --cpus-per-gpu= --cpus-per-task= -c= --deadline= --delay-boot= --dependency= -d= --distribution= -m= --exclude= -x= --exclusive --extra= --extra-node-info= -B= --get-user-env --gid= --gpu-bind= --gpu-freq= --gpus= -G= --gpus-per-node= --gpus-per-socket= --gpus-per-task= --gres= --gres-flags= --help -h --hint= --hold -H --immediate -I --job-name= -J= --kill-command -K --licenses= -L= --mail-type= --mail-user= --mcs-label= --mem= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --network= --nice --no-bell --no-kill -k --no-shell --nodefile= -F= --nodelist= -w= --nodes= -N= --ntasks= -n= --ntasks-per-core= --ntasks-per-gpu= --ntasks-per-node= --tasks-per-node= --ntasks-per-socket= --ntasks-per-tres= --oom-kill-step --overcommit -O --oversubscribe -s --partition= -p= --power= --prefer= --priority= --profile= --qos= -q= --quiet -Q --reboot --reservation= --resources= --resv-ports --segment= --signal= --sockets-per-node= --spread-job --spread-segments --stepmgr --switches= --thread-spec= --threads-per-core= --time= -t= --time-min= --tmp= --tres-bind= --tres-per-task= --uid= --usage --use-min-nodes --verbose -v --version -V --wait-all-nodes= --wckey= --x11' ;;
    sacct) echo '--accounts= -A= --allclusters -L --allocations -X --allusers -a --array --associations= -x= --batch-script -B --brief -b --cluster= --clusters= -M= --completion -c --constraints= -C= --delimiter= --duplicates -D --endtime= -E= --env-vars --expand-patterns --federation --fields= --file= -f= --flags= -F= --format= -o= --gid= -g= --group= --help -h --helpformat -e --jobs= -j= --json --local --long -l --name= --ncpus= -I= --nnodes= -i= --noconvert --nodelist= -N= --noheader -n --parsable -p --parsable2 -P --partition= -r= --qos= -q= --reason= -R= --starttime= -S= --state= -s= --timelimit-max= -K= --timelimit-min= -k= --truncate -T --uid= -u= --units= --usage -U --use-local-uid --user= --verbose -v --version -V --wckeys= -W= --whole-hetjob --yaml' ;;
    sacctmgr) echo '--associations -s --autocomplete= --help -h --immediate -i --json --noheader -n --oneliner -o --parsable -p --parsable2 -P --quiet -Q --readonly -r --usage --verbose -v --version -V --yaml' ;;
    sattach) echo '--error-filter= --help -h --label -l --layout --output-filter= --quiet -Q --usage --verbose -v --version -V' ;;
    sbcast) echo '--compress -C --fanout= -F= --force -f --help --jobid= -j= --preserve -p --size= -s= --timeout= -t= --usage --verbose -v --version -V' ;;
    scancel) echo '--account= -A= --admin-comment --batch -b --clusters= -M= --ctld --cron --full -f --help --hurry -H --interactive -i --jobname= -n= --me --name= --nodelist= -w= --partition= -p= --qos= -q= --quiet -Q --reservation= -R= --sibling= --signal= -s= --state= -t= --usage --user= -u= --verbose -v --version -V --wckey=' ;;
    scontrol) echo '--all -a --clusters= -M= --details -d --federation --future -F --help -h --hide --json --local --oneliner -o --quiet -Q --sibling --uid= -u= --usage --verbose -v --version -V --yaml' ;;
    scrontab) echo '--edit -e --help --list -l --remove -r --usage --user= -u= --verbose -v --version -V' ;;
    sdiag) echo '--all -a --cluster= -M= --help -h --json --reset -r --sort-by-id -i --sort-by-time -t --sort-by-time2 -T --usage --version -V --yaml' ;;
    sinfo) echo '--all -a --clusters= -M= --dead -d --exact -e --federation --format= -o= --Format= -O= --future -F --help --hide --iterate= -i= --json --list-reasons -R --local --long -l --Node -N --nodes= -n= --noconvert --noheader -h --partition= -p= --reservation -T --responding -r --sort= -S= --states= -t= --summarize -s --usage --verbose -v --version -V --yaml' ;;
    sprio) echo '--clusters= -M= --federation --format= -o= --help --jobs= -j= --local --long -l --noheader -h --norm -n --partition= -p= --sibling --sort= -S= --usage --user= -u= --verbose -v --version -V --weights -w' ;;
    squeue) echo '--accounts= -A= --all -a --array -r --array-unique --clusters= -M= --expand-patterns --federation --format= -o= --Format= -O= --help --hide --iterate= -i= --jobs -j --json --licenses= -L= --local --long -l --me --name= -n= --noconvert --nodelist= -w= --nodes= --noheader -h --notme --only-job-state --partitions= -p= --priority -P --qos= -q= --reservation= -R= --sibling --sort= -S= --start --steps -s --states= -t= --usage --users= -u= --verbose -v --version -V --yaml' ;;
    sreport) echo '--all_clusters -a --cluster= -M= --federation --help -h --local --noheader -n --parsable -p --parsable2 -P --quiet -Q --t= -t= --tres= -T= --usage --verbose -v --version -V' ;;
    sshare) echo '--accounts= -A= --all -a --clusters= -M= --format= -o= --help --helpformat -e --json --long -l --noheader -n --no-header -h --parsable -p --parsable2 -P --partition -m --uid= --usage --users= -u= --Users -U --verbose -v --version -V --yaml' ;;
    sstat) echo '--allsteps -a --format= -o= --fields= --help -h --helpformat -e --jobs= -j= --json --noconvert --noheader -n --parsable -p --parsable2 -P --pidformat -i --usage --verbose -v --version -V --yaml' ;;
    strigger) echo '--backup_slurmctld_assumed_control -C --backup_slurmctld_failure -B --backup_slurmctld_resumed_operation -c --burst_buffer --clear --clusters= -M= --down -d --drained -D --fail -F --fini -f --flags= --get --help --id= -i= --idle -I --jobid= -j= --node -n --noheader -N --offset= -o= --primary_database_failure -h --primary_database_resumed_operation -H --primary_slurmctld_acct_buffer_full -e --primary_slurmctld_failure -a --primary_slurmctld_resumed_control -b --primary_slurmctld_resumed_operation -A --primary_slurmdbd_failure -g --primary_slurmdbd_resumed_operation -G --program= -p= --quiet -Q --reconfig -r --set --time -t --up -u --usage --user= --verbose -v --version -V' ;;
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
    sacct:--units) echo 'K M G T P' ;;
    sacct:--whole-hetjob) echo 'yes no' ;;
    esac
}

# Completes a word of a tool whose options begin at a place in the line.
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
    sbatch|srun|salloc|sacct|sacctmgr|sattach|sbcast|scancel|scontrol|scrontab|sdiag|sinfo|sprio|squeue|sreport|sshare|sstat|strigger) _spur_submission "$name" 1 ;;
    *)
        if ((COMP_CWORD == 1)); then
            mapfile -t COMPREPLY < <(compgen -W 'up down env init token join audit config controllers status top health doctor submit queue cancel nodes history show why plan logs run alloc exec wait retry watch version help sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol scrontab sdiag seff sinfo sprio squeue sreport srun sshare sstat strigger' -- "${COMP_WORDS[1]}")
        else
            case ${COMP_WORDS[1]} in
            sbatch|srun|salloc|sacct|sacctmgr|sattach|sbcast|scancel|scontrol|scrontab|sdiag|sinfo|sprio|squeue|sreport|sshare|sstat|strigger) _spur_submission "${COMP_WORDS[1]}" 2 ;;
            esac
        fi
        ;;
    esac
}

complete -o bashdefault -o default -F _spur spur sbatch srun salloc sacct sacctmgr sattach sbcast scancel scontrol scrontab sdiag sinfo sprio squeue sreport sshare sstat strigger
