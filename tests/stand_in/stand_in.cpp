// A stand-in for an accelerator, for tests on machines that have none.
//
// Tensors of the device type "stand_in" (PyTorch's PrivateUse1) lie in host memory that only this file hands out. Every
// operator is computed by the CPU's kernel on a copy, except for the few below that make, view or copy tensors. As on a
// GPU, tensors of two devices do not mix, and backwards run in a thread of the device. What would make the host wait
// for a real accelerator is counted, and told to a listener in Python.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/extension.h>
#include <cstring>
#include <mutex>
#include <set>

namespace {

using at::IntArrayRef, at::Tensor, c10::Device, c10::DeviceIndex, c10::DeviceType, c10::Stream, std::optional;

const Device kStandIn(DeviceType::PrivateUse1, 0);
const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// ------------------------------------------------------------------------------------------------- what makes us wait

enum Wait { SCALAR, READ, SHAPE, FENCE, UPLOAD, WAITS };
const char* const kNames[WAITS] = {"scalar", "read", "shape", "fence", "upload"};
std::array<std::atomic<int64_t>, WAITS> waits;
PyObject* listener = nullptr;  // called with the kind of wait and the operator's name

// Copies that the fallback makes are ours, not the program's: they do not count.
thread_local int computing = 0;
struct Computing {
  Computing() { ++computing; }
  ~Computing() { --computing; }
};

void waited(Wait kind, const std::string& name) {
  if (computing) return;
  ++waits[kind];
  if (!listener) return;
  py::gil_scoped_acquire holding;
  if (listener) py::reinterpret_borrow<py::function>(listener)(kNames[kind], name);
}

// ------------------------------------------------------------------------------------------------------------- memory

std::atomic<int64_t> bytes_in_use{0};
constexpr size_t kHeader = 64;  // before each block: its size, and alignment for what follows

std::atomic<int64_t> limit{0};  // of all that is in use at a time; 0 for none

[[noreturn]] void out_of_memory(size_t bytes) {
  TORCH_CHECK_WITH(OutOfMemoryError, false, "stand_in out of memory. Tried to allocate ", bytes, " bytes.");
  std::abort();  // never comes to this
}

void release(void* block) {
  char* start = static_cast<char*>(block) - kHeader;
  bytes_in_use -= *reinterpret_cast<int64_t*>(start);
  std::free(start);
}

struct Memory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kStandIn};
    const size_t whole = (bytes + 2 * kHeader - 1) / kHeader * kHeader;
    char* start = static_cast<char*>(std::aligned_alloc(kHeader, whole));
    if (!start || (limit && bytes_in_use + static_cast<int64_t>(bytes) > limit)) {
      std::free(start);
      out_of_memory(bytes);
    }
    *reinterpret_cast<int64_t*>(start) = static_cast<int64_t>(bytes);
    bytes_in_use += static_cast<int64_t>(bytes);
    return {start + kHeader, start + kHeader, &release, kStandIn};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  // What torch.accelerator asks.
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current = bytes_in_use;
    return stats;
  }
  void resetAccumulatedStats(DeviceIndex) override {}
  void resetPeakStats(DeviceIndex) override {}
};
Memory memory;
REGISTER_ALLOCATOR(DeviceType::PrivateUse1, &memory)

// Pinned memory is the CPU's own, written down in a list.
std::mutex pinned_lock;
std::set<void*> pinned;
struct PinnedMemory final : c10::Allocator {
  static void unpin(void* block) {
    std::lock_guard<std::mutex> locked(pinned_lock);
    pinned.erase(block);
    std::free(block);
  }
  c10::DataPtr allocate(size_t bytes) override {
    void* block = std::aligned_alloc(kHeader, (bytes + kHeader) / kHeader * kHeader);
    std::lock_guard<std::mutex> locked(pinned_lock);
    pinned.insert(block);
    return {block, block, &unpin, Device(DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
PinnedMemory pinned_memory;

// ---------------------------------------------------------------------------------------------- device, random numbers

// One device with one stream, on which everything is done at once. Events only need to exist.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  DeviceType type() const override { return DeviceType::PrivateUse1; }
  Device exchangeDevice(Device) const override { return kStandIn; }
  Device getDevice() const override { return kStandIn; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  Stream getStream(Device) const override { return Stream(Stream::DEFAULT, kStandIn); }
  Stream getDefaultStream(Device) const override { return Stream(Stream::DEFAULT, kStandIn); }
  Stream getNewStream(Device, int) const override { return Stream(Stream::DEFAULT, kStandIn); }
  Stream exchangeStream(Stream) const override { return Stream(Stream::DEFAULT, kStandIn); }
  DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const Stream&, DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeStream(const Stream&) const override { waited(FENCE, "synchronize stream"); }
  void synchronizeEvent(void*) const override { waited(FENCE, "synchronize event"); }
  void synchronizeDevice(DeviceIndex) const override { waited(FENCE, "synchronize"); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// Generators of the device that a program makes for itself. The fallback lends their state to one of the CPU.
struct DeviceGenerator final : at::CPUGeneratorImpl {
  explicit DeviceGenerator(uint64_t seed = c10::default_rng_seed_val) : CPUGeneratorImpl(seed) {
    device_ = kStandIn;
    key_set_ = kKeys;
  }
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator();
    copy->set_state(*get_state());
    return copy;
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex exchangeDevice(DeviceIndex) const override { return 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override { return 0; }
  Device getDeviceFromPtr(void*) const override { return kStandIn; }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory; }
  bool isPinnedPtr(const void* data) const override {
    std::lock_guard<std::mutex> locked(pinned_lock);
    return pinned.count(const_cast<void*>(data)) > 0;
  }
  // The default generator is the CPU's, so that a program draws the same numbers on both.
  const at::Generator& getDefaultGenerator(DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
  at::Generator getNewGenerator(DeviceIndex) const override { return at::make_generator<DeviceGenerator>(); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    at::native::resize_bytes_cpu(storage.unsafeGetStorageImpl(), bytes);
  }
};
Hooks hooks;

// -------------------------------------------------------------------------------------- operators that are native here

// A tensor of the CPU over the same memory: only for what lies in this file.
Tensor on_host(const Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  Tensor host = at::from_blob(
      tensor.storage().mutable_data() ? tensor.mutable_data_ptr() : nullptr, tensor.sizes(), tensor.strides(),
      at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU));
  if (tensor.is_conj()) host._set_conj(true);
  if (tensor.is_neg()) host._set_neg(true);
  return host;
}

Tensor empty(IntArrayRef size, optional<at::ScalarType> dtype, optional<at::Layout>, optional<Device>, optional<bool>,
             optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory, kKeys, c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, optional<at::ScalarType> dtype, optional<at::Layout>,
                     optional<Device>, optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &memory, kKeys, c10::dtype_or_default(dtype));
}

// As with CUDA, a copy between host and device waits, unless it may be late and the host's memory is pinned.
Tensor copy_from(const Tensor& self, const Tensor& target, bool non_blocking) {
  const Tensor& host = self.is_cpu() ? self : target;
  if (host.is_cpu() && self.numel() > 0 && !(non_blocking && hooks.isPinnedPtr(host.storage().data()))) {
    waited(self.is_cpu() ? UPLOAD : READ, "copy");
  }
  Computing scope;
  at::NoGradGuard no_grad;
  on_host(target).copy_(on_host(self));
  return target;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& target) {
  if (target.sizes() != self.sizes()) target.resize_(self.sizes());
  return copy_from(self, target, false);
}

at::Scalar local_scalar_dense(const Tensor& self) {
  waited(SCALAR, "item");
  return at::native::_local_scalar_dense_cpu(on_host(self));
}

Tensor& set_nothing(Tensor& self) {
  c10::Storage none(c10::Storage::use_byte_size_t(), 0, &memory, true);
  return at::native::set_storage_cpu_(self, none, 0, {0}, {});
}

// Devices other than the CPU compute the cells of recurrent layers at once; ours are put together from other operators.
using Bias = const optional<Tensor>&;
Tensor with_bias(const Tensor& gates, Bias bias) { return bias && bias->defined() ? gates + *bias : gates; }

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                                             Bias input_bias, Bias hidden_bias) {
  const Tensor gates = with_bias(input, input_bias) + with_bias(hidden, hidden_bias);
  const auto parts = gates.chunk(4, 1);
  const Tensor next = parts[1].sigmoid() * cell + parts[0].sigmoid() * parts[2].tanh();
  return {parts[3].sigmoid() * next.tanh(), next, gates};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& state, Bias input_bias,
                                    Bias hidden_bias) {
  const auto in = with_bias(input, input_bias).chunk(3, 1), back = with_bias(hidden, hidden_bias).chunk(3, 1);
  const Tensor fresh = (in[2] + (in[0] + back[0]).sigmoid() * back[2]).tanh();
  return {fresh + (in[1] + back[1]).sigmoid() * (state - fresh), fresh};
}

// ------------------------------------------------------------------------------------------------- all other operators

bool is_index(const std::string& name) { return name.find("index") != std::string::npos; }

// Tensors of two devices do not mix, but for single numbers, positions, and lengths that belong on the CPU.
void check_devices(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined() || tensor.is_privateuseone() || (tensor.is_cpu() && tensor.dim() == 0)) return;
  const bool may_be_there = is_index(name) || name.find("pack") != std::string::npos;
  TORCH_CHECK(tensor.is_cpu() && !tensor.is_floating_point() && may_be_there, "Expected all tensors to be on the same ",
              "device, but found at least two devices, stand_in:0 and ", tensor.device(), "! (in ", name, ")");
}

// Whether the operator must know values before it can return: sizes that depend on them, or a number for Python.
bool needs_values(const std::string& name, bool by_mask) {
  static const std::set<std::string> kNeeding = {
      "aten::nonzero", "aten::masked_select", "aten::equal", "aten::_unique", "aten::_unique2", "aten::unique_dim",
      "aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::bincount", "aten::repeat_interleave"};
  return kNeeding.count(name) > 0 || (by_mask && is_index(name));
}

void compute_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  const size_t first = stack->size() - op.schema().arguments().size();
  optional<at::Generator> ours, lent;
  bool by_mask = false;
  for (size_t place = first; place < stack->size(); ++place) {
    c10::IValue& value = (*stack)[place];
    if (value.isTensor()) {
      check_devices(name, value.toTensor());
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
      for (const c10::IValue& item : value.toListRef()) {
        if (!item.isTensor()) continue;
        check_devices(name, item.toTensor());
        by_mask |= item.toTensor().defined() && item.toTensor().scalar_type() == at::kBool;
      }
    } else if (value.isGenerator() && value.toGenerator().device().is_privateuseone()) {
      ours = value.toGenerator();
      lent = at::detail::createCPUGenerator();
      lent->set_state(ours->get_state());
      value = *lent;
    }
  }
  if (needs_values(name, by_mask)) waited(SHAPE, name);
  Computing scope;
  try {
    at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
  } catch (const c10::Error& error) {
    // The device has as much memory as the CPU, where the result was to be computed.
    const std::string said = error.what_without_backtrace();
    const size_t found = said.find("you tried to allocate ");
    if (found == std::string::npos) throw;
    out_of_memory(std::stoull(said.substr(found + std::strlen("you tried to allocate "))));
  }
  if (ours) ours->set_state(lent->get_state());
}

// The operator of that name changes running statistics without saying so; the other one says it, and is the same.
void batch_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const auto saying_so = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_native_batch_norm_legit", "");
  const c10::IValue& running_mean = (*stack)[stack->size() - 5];
  const bool has_statistics = running_mean.isTensor() && running_mean.toTensor().defined();
  compute_on_host(has_statistics ? saying_so : op, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_host>()); }
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("resize_", static_cast<const Tensor& (*)(const Tensor&, IntArrayRef, optional<at::MemoryFormat>)>(
                        &at::native::resize_));
  m.impl("set_", &set_nothing);
  m.impl("set_.source_Tensor", &at::native::set_tensor_);
  m.impl("set_.source_Storage", static_cast<Tensor& (*)(Tensor&, at::Storage)>(&at::native::set_));
  m.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
  m.impl("is_set_to", &at::native::is_set_to);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", static_cast<Tensor (*)(const Tensor&, IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("record_stream", +[](Tensor&, Stream) {});
  // Otherwise torch would choose a backend for the first two, and warn of an output of the wrong size for the others.
  for (const char* name : {"convolution", "convolution_backward", "mse_loss", "smooth_l1_loss", "huber_loss"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&compute_on_host>());
  }
  m.impl("native_batch_norm", torch::CppFunction::makeFromBoxedFunction<&batch_norm>());
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {  // differentiated piece by piece
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
}

#define LOW(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FULL(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FULL_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOW)
  AT_FORALL_FP32(FULL)
  AT_FORALL_FP32_SET_OPT_DTYPE(FULL_DTYPE)
  AT_FORALL_PROMOTE(PROMOTE)
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  at::RegisterPrivateUse1HooksInterface(&hooks);
  module.def("counts", [] {
    py::dict counts;
    for (int kind = 0; kind < WAITS; ++kind) counts[kNames[kind]] = waits[kind].load();
    return counts;
  });
  module.def("limit_memory", [](int64_t bytes) { limit = bytes; });
  module.def("bytes_in_use", [] { return bytes_in_use.load(); });
  module.def("listen", [](const py::object& function) {
    PyObject* before = listener;
    listener = function.is_none() ? nullptr : function.inc_ref().ptr();
    Py_XDECREF(before);
  });
}
