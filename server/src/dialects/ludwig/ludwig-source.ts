import { fileIn } from '../../sources/repositories';
import { LUDWIG } from './ludwig-repository';

/** Where Ludwig's own configuration checks stand. */
export const LUDWIG_CHECKS = fileIn(LUDWIG, 'ludwig/config_validation/checks.py');
/** Where the trainer's keys, their defaults and their own checks stand. */
export const LUDWIG_TRAINER = fileIn(LUDWIG, 'ludwig/schema/trainer.py');
/** How the base model is loaded, and placed on GPUs. */
export const LUDWIG_LOADING = fileIn(LUDWIG, 'ludwig/utils/llm_utils.py');
