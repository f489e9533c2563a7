/** One kind of GPU (or other accelerator). FLOP rates are dense, per second. */
export interface Accelerator {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: string;
  readonly architecture: string;
  /** Memory on the box, GB as marketed. */
  readonly marketedGb: number;
  /** Bytes that nvidia-smi shows as total. */
  readonly totalBytes: number;
  /** Bytes that PyTorch can use (`torch.cuda.get_device_properties().total_memory`). */
  readonly usableBytes: number;
  /** True where `usableBytes` is derived from the marketed size because no reading was found. */
  readonly usableIsDerived: boolean;
  readonly bandwidthBytesPerSecond?: number;
  readonly denseFlops: {
    readonly fp32?: number;
    readonly tf32?: number;
    readonly fp16?: number;
    readonly bf16?: number;
    readonly fp8?: number;
  };
  /** Rated power of the board. */
  readonly powerWatts?: number;
  readonly pcieGeneration?: number;
  /** To other GPUs of the node, bytes per second in one direction; unset where they meet over PCIe. */
  readonly linkBytesPerSecond?: number;
  readonly computeCapability?: string;
  readonly supports: {
    readonly bf16: boolean;
    readonly fp8: boolean;
    readonly flash2: boolean;
    readonly flash3: boolean;
  };
  readonly sources: readonly string[];
  readonly note?: string;
}
