import type { Repository } from '../../sources/repositories';

/** The last release whose configs are modules of mmengine; what came after has another trainer, beside this one. */
export const XTUNER: Repository = { name: 'InternLM/xtuner', at: 'v0.2.0' };
