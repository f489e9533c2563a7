import type { Repository } from '../../sources/repositories';

export const OPENRLHF: Repository = { name: 'OpenRLHF/OpenRLHF', at: 'v0.11.0' };
