#!/bin/bash
torchrun --nproc_per_node 8 scripts/sft.py --config sft.yaml \
  --per_device_train_batch_size 4
