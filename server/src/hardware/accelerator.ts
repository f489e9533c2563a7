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
  /** Streaming multiprocessors. */
  readonly multiprocessors?: number;
  /** The fastest matrix products that were measured, per second. */
  readonly fastestFlops?: { readonly bf16?: number; readonly fp8?: number };
  /**
   * Network adapters of a machine with eight of the card, Gbit/s. `usual`: of the vendor's own machine; unset where NVLink
   * goes beyond the node. `slowest`: of the slowest machine that is rented with it.
   */
  readonly networkGbits?: { readonly usual?: number; readonly slowest: number };
  /** False where drivers let GPUs not read each other's memory over PCIe. */
  readonly peerAccess?: boolean;
  readonly supports: {
    readonly bf16: boolean;
    readonly fp8: boolean;
    readonly flash2: boolean;
    readonly flash3: boolean;
  };
  /** Sold in China only. */
  readonly restricted?: boolean;
  /** Names that mean this card or another one. */
  readonly ambiguousNames?: readonly string[];
  readonly sources: readonly string[];
  readonly note?: string;
}

/**
 * Whether the model of memory is held to something there: CUDA and ROCm, under which PyTorch allocates by one allocator and
 * of which measured runs are at hand. TPUs, Gaudi, Trainium, Ascend and Apple's GPUs have runtimes of their own.
 */
export function isModelled({ vendor }: Pick<Accelerator, 'vendor'>): boolean {
  return vendor === 'NVIDIA' || vendor === 'AMD' || vendor === '';
}
