import { fileIn } from '../../sources/repositories';
import { type LeafPolicy, typesOfClasses } from '../leaf-classes';
import { OPENRLHF } from './openrlhf-repository';

/** `set_z3_leaf_modules`, by the name of the class (0.8.10 to 0.11.2). */
export const OPENRLHF_LEAVES: LeafPolicy = {
  name: 'OpenRLHF',
  of: 'openrlhf',
  types: { '0.8.10': typesOfClasses('SparseMoeBlock') },
  source: fileIn(OPENRLHF, 'openrlhf/models/utils.py'),
};
