// Makes a CPU build of PyTorch treat fake 'cuda' tensors as an H100 would be treated, without any GPU:
// a device guard that does nothing, and the choice of the scaled-dot-product attention kernel.
// Nothing is computed: it is used with fake tensors (shapes and types, no data).
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace at {

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device here() const { return {c10::DeviceType::CUDA, 0}; }
  c10::Stream stream() const { return c10::Stream(c10::Stream::DEFAULT, here()); }
  c10::Device exchangeDevice(c10::Device) const override { return here(); }
  c10::Device getDevice() const override { return here(); }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}
};

struct Hooks final : at::CUDAHooksInterface {
  Hooks() = default;
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

enum Backend : int64_t { MATH = 0, FLASH = 1, EFFICIENT = 2 };

/** The conditions of sdp_utils.cpp that a training run can meet on compute capability 8.0 and newer. */
int64_t choose(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& mask,
               double, bool causal, std::optional<double>, bool gqa) {
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4) return MATH;
  const bool half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
  const bool sameHeads = q.size(1) == k.size(1) && q.size(1) == v.size(1);
  const bool groupedHeads = gqa && k.size(1) == v.size(1) && q.size(1) % k.size(1) == 0;
  const bool unitStride = q.stride(-1) == 1 && k.stride(-1) == 1 && v.stride(-1) == 1;
  const int64_t head = q.size(-1), alignment = half ? 8 : 4;
  auto& context = at::globalContext();
  if (context.userEnabledFlashSDP() && half && !mask && head == k.size(-1) && head == v.size(-1) && head <= 256 &&
      (sameHeads || groupedHeads) && (!causal || q.size(2) == k.size(2)) && unitStride)
    return FLASH;
  if (context.userEnabledMemEfficientSDP() && (half || q.scalar_type() == at::kFloat) && head == k.size(-1) &&
      head % alignment == 0 && v.size(-1) % alignment == 0 && sameHeads && unitStride)
    return EFFICIENT;
  return MATH;
}

C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, Hooks)

const bool registered = [] {
  static Guard guard;
  c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::DeviceType::CUDA)].store(&guard);
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose);
  return true;
}();

}  // namespace at
