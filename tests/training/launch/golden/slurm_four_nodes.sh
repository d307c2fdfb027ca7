#!/bin/bash
#SBATCH --job-name=bench2robust
#SBATCH --partition=gpu
#SBATCH --account=lab
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --mem=900G
#SBATCH --time=1440
#SBATCH --output=/scratch/demo.job/slurm-%j.log
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@900
#SBATCH --requeue
set -euo pipefail

# What the site needs.
module load cuda
source /shared/env/bin/activate

export OMP_NUM_THREADS=8
export NCCL_DEBUG=WARN
export NOTE='it'"'"'s here'
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export HEAD
export BENCH2ROBUST_STOP_FILE=/scratch/demo.job/stop
rm -f "$BENCH2ROBUST_STOP_FILE"
# Told to end, the run does so at its next iteration, with a checkpoint.
trap 'touch "$BENCH2ROBUST_STOP_FILE"' USR1 TERM

# GPUs must not wait for a user that never comes.
deadline=$((SECONDS + 600))
until curl --silent --fail --max-time 5 --header "Authorization: Bearer $USER_KEY" http://user-sim:8001/v1/models >/dev/null; do
  if [ $SECONDS -ge $deadline ]; then echo no user simulator: http://user-sim:8001/v1/models >&2; exit 1; fi
  sleep 5
done

srun --kill-on-bad-exit=1 bash -c 'exec python -m accelerate.commands.launch --config_file /scratch/demo.job/accelerate.yaml --num_machines 4 --num_processes 32 --machine_rank "$SLURM_NODEID" --main_process_ip "$HEAD" --main_process_port 29500 -m bench2robust train --config /scratch/demo.job/config.yaml' &
step=$!
while kill -0 "$step" 2>/dev/null; do
  wait "$step" || true # a signal ends the wait early
done
code=0
wait "$step" || code=$?

restarts=${SLURM_RESTART_COUNT:-0}
if [ "$code" -ne 0 ] && [ -e "$BENCH2ROBUST_STOP_FILE" ] && [ "$restarts" -lt 20 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
