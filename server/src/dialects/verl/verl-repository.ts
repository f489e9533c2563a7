import type { Repository } from '../../sources/repositories';

export const VERL: Repository = { name: 'volcengine/verl', at: 'v0.7.0' };
