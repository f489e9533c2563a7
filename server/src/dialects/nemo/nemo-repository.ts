import type { Repository } from '../../sources/repositories';

export const AUTOMODEL: Repository = { name: 'NVIDIA-NeMo/Automodel', at: 'v0.5.0' };
export const MEGATRON_BRIDGE: Repository = { name: 'NVIDIA-NeMo/Megatron-Bridge', at: 'v0.6.0' };
export const NEMO: Repository = { name: 'NVIDIA/NeMo', at: 'v2.4.0' };
