/** Which sub-command a config is for: nothing in it states it but its keys and its name. */
export type LitgptCommand = 'lora' | 'adapter' | 'adapter_v2' | 'full' | 'pretrain';
