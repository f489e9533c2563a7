import type { Repository } from '../../sources/repositories';

export const FASTCHAT: Repository = { name: 'lm-sys/FastChat', at: 'v0.2.36' };
export const INTERN_VL: Repository = {
  name: 'OpenGVLab/InternVL',
  at: '2410d1dbf208f0e799459aff9376e5747dbf41a2',
};
export const LLAVA: Repository = { name: 'haotian-liu/LLaVA', at: 'v1.2.2.post1' };
export const LMFLOW: Repository = {
  name: 'OptimalScale/LMFlow',
  at: 'f3597dba134e8bb3d2cfedeaaae6fc7296ace924',
};
export const LONG_LORA: Repository = {
  name: 'dvlab-research/LongLoRA',
  at: 'd4eb344c5ccc9e91c0812a2b2aeea69070df8c33',
};
export const QLORA: Repository = { name: 'artidoro/qlora', at: '7f4e95a68dc076bea9b3a413d2b512eca6d004e5' };
export const QWEN: Repository = { name: 'QwenLM/Qwen', at: '2df8e8ac450fa185c421a08b0090ef81826caa6e' };
export const QWEN2_VL_FINETUNE: Repository = {
  name: '2U1/Qwen2-VL-Finetune',
  at: '6695161adfbd1da24a2a12fb172f005b59e723e3',
};
export const STANFORD_ALPACA: Repository = {
  name: 'tatsu-lab/stanford_alpaca',
  at: '761dc5bfbdeeffa89b8bff5d038781a4055f796a',
};
