import type { Family } from '../family';
import { deepspeedChatProgram } from './deepspeed-chat-program';

/** DeepSpeed-Chat. */
export const deepspeedChatFamily: Family = {
  programs: [deepspeedChatProgram],
};
