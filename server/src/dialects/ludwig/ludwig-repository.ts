import type { Repository } from '../../sources/repositories';

export const LUDWIG: Repository = { name: 'ludwig-ai/ludwig', at: 'v0.11.0' };
