// driftline._core.Kernel64 and Kernel32: kernel versions of second-order learners. Both keep their state in doubles; the
// rows of the latter are floats.
#include "second_order_core.hpp"
#include "state_numbers.hpp"

#include <exception>

#include "driftline/kernels/model.hpp"

namespace driftline::bindings {
namespace {

// A kernel given as a Python function.
class Callable : public PairFunction {
  public:
    explicit Callable(nb::object function) : function_(std::move(function)) {}
    double operator()(const double* x, const double* z, Index d) override {
        nb::gil_scoped_acquire held;
        try {
            const nb::object value = function_(copy_out(x, d), copy_out(z, d));
            const double number = read_number<double>(value.ptr());
            if (std::isnan(number))
                throw nb::value_error(
                    ("Kernel: kernel must return a finite number for two rows, got " + std::string(nb::repr(value).c_str()))
                        .c_str());
            return number;
        } catch (...) {
            error_ = std::current_exception();
            return NAN;
        }
    }
    void rethrow() {
        if (error_)
            std::rethrow_exception(std::exchange(error_, nullptr));
    }

  private:
    nb::object function_;
    std::exception_ptr error_;
};

template <class T> struct KernelCore : SecondOrderCore<double> {
    using Value = T;

    KernelCore(Index features, Index width, const Policy& policy, KernelOptions options, nb::object function)
        : SecondOrderCore<double>(width, false, policy), callable(std::move(function)) {
        if (options.function.kind == KernelKind::custom)
            options.function.custom = &callable;
        kernel = std::make_unique<KernelModel>(model, features, options);
        make_room();
    }
    Index features() const { return kernel->features(); }
    Index width() const { return 0; } // the weights belong to points, and have no snapshots
    bool read(nb::handle x, bool unknown_allowed) { return read_row(x.ptr(), buffer_, names, unknown_allowed); }
    bool take(const Batch& batch, Index t) { return driftline::read_row<T>(batch, t, features(), row_.data()); }
    const T* numbers() const { return row_.data(); }
    bool load(const Numbers& row) { return load_row(row, buffer_); }
    Status predict(double& prediction) {
        Outputs out;
        out.predictions = &prediction;
        return step(nullptr, 1, out);
    }
    Status predict(Outputs& out) { return step(nullptr, 1, out); }
    Status learn(double label, double share) {
        double prediction = 0;
        Outputs out;
        out.predictions = &prediction;
        return step(&label, share, out);
    }
    Status replay(const Batch& batch, Outputs& out) { return kernel->template replay<T>(batch, out); }
    void rethrow() { callable.rethrow(); }
    void grow(Index more) {
        kernel->grow(more);
        make_room();
    }

    Callable callable;
    std::unique_ptr<KernelModel> kernel;

  private:
    void make_room() {
        row_.resize(static_cast<std::size_t>(kernel->features()) + 1);
        wide_.resize(row_.size());
        buffer_ = {kernel->features(), false, row_.data()};
    }
    Status step(const double* label, double share, Outputs& out) {
        std::copy(row_.begin(), row_.end(), wide_.begin());
        const Status status = kernel->step(wide_.data(), label, share, out, 0);
        callable.rethrow();
        return status;
    }

    std::vector<T> row_;
    std::vector<double> wide_;
    RowBuffer<T> buffer_;
};

template <class T> nb::dict kernel_state(KernelCore<T>& self) {
    nb::dict out = get_state<double>(self);
    InUse use(self);
    KernelModel& kernel = *self.kernel;
    const double shape[] = {static_cast<double>(kernel.features()), static_cast<double>(kernel.dictionary().count()),
                            static_cast<double>(kernel.first.rows())};
    out["shape"] = copy_out(shape, 3);
    write_numbers(kernel, out);
    return out;
}

// Checks the dictionary's numbers, which the core then trusts.
void check_kernel(KernelModel& kernel, const Sums& sums) {
    const Index n = kernel.dictionary().count();
    bool good = kernel.options().function.gamma > 0 && kernel.projected >= 0 && kernel.removed >= 0;
    for (Index i = 0; i < n; ++i)
        good = good && kernel.dictionary().triangle()[i * (i + 1) / 2 + i] > 0;
    good = good && kernel.dictionary().is_sound();
    const bool warm = kernel.options().measured && sums.rows < FirstRows::most;
    good = good && static_cast<double>(kernel.first.rows()) == (warm ? sums.rows : 0) && kernel.first.is_sound();
    if (!good)
        throw nb::value_error("the state's dictionary is out of range");
}

// On a fresh object; the state may hold anything.
template <class T> void set_kernel_state(KernelCore<T>& self, const nb::dict& from) {
    double shape[3];
    copy_in(from, "shape", shape, 3);
    KernelModel& kernel = *self.kernel;
    const double most = static_cast<double>(kernel.dictionary().room()) - 1;
    for (double count : shape)
        if (!(count >= 0 && count < 9e15 && count == std::floor(count)))
            throw nb::value_error("the state's shape is out of range");
    if (static_cast<Index>(shape[0]) != kernel.features() || shape[1] > most || shape[2] >= FirstRows::most)
        throw nb::value_error("the state's shape is out of range");
    set_state<double>(self, from);
    InUse use(self);
    kernel.dictionary().expect(static_cast<Index>(shape[1]));
    kernel.first.expect(static_cast<Index>(shape[2]), kernel.features(), self.model->state.sums.timed > 0);
    read_numbers(from, kernel);
    check_kernel(kernel, self.model->state.sums);
    if (!(self.model->state.sums.rows < FirstRows::most))
        kernel.first.close();
}

// The points, row by row.
template <class T> nb::object points(KernelCore<T>& self) {
    InUse use(self);
    const PointTable table = self.kernel->dictionary().table();
    double* to;
    nb::object out = new_array(table.count * table.features, to);
    for (Index i = 0; i < table.count; ++i)
        for (Index j = 0; j < table.features; ++j)
            *to++ = table.at[j * table.stride + i];
    return out;
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = KernelCore<T>;
    auto core = nb::class_<Core, SecondOrderCore<double>>(m, name, "A kernel version of a second-order learner.")
                    .def(
                        "__init__",
                        [](Core* self, Index features, Index width, const Policy& policy, const KernelOptions& options,
                           nb::object function) {
                            const Index own = KernelModel::first_width(options.budget);
                            if (width < own || (options.budget > 0 && width > own))
                                throw nb::value_error("the state's weights belong to another budget");
                            new (self) Core(features, width, policy, options, std::move(function));
                        },
                        arg("features"), arg("width"), arg("policy"), arg("options"), arg("function").none());
    bind_verbs(core);
    core.def_prop_ro("gamma", [](Core& self) { return self.kernel->options().function.gamma; })
        .def_prop_ro("tau", [](Core& self) { return self.kernel->tau(); })
        .def_prop_ro(
            "counts", [](Core& self) { return nb::make_tuple(self.kernel->projected, self.kernel->removed); },
            nb::for_getter(nb::sig("def counts(self) -> tuple[int, int]")))
        .def("points", &points<T>, nb::sig("def points(self) -> typing.Any"), "The points, concatenated.")
        .def(
            "triangle",
            [](Core& self) {
                InUse use(self);
                const Index n = self.kernel->dictionary().count();
                return copy_out(self.kernel->dictionary().triangle(), n * (n + 1) / 2);
            },
            nb::sig("def triangle(self) -> typing.Any"),
            "The coordinates of the points: the concatenated rows of a lower triangle.")
        .def("get_state", &kernel_state<T>)
        .def("set_state", &set_kernel_state<T>, arg("state"));
}

} // namespace

void bind_kernel(nb::module_& m) {
    using nb::arg;
    nb::class_<KernelOptions>(m, "KernelOptions", "A kernel, and how many points to keep.")
        .def(
            "__init__",
            [](KernelOptions* self, KernelKind kind, double gamma, double offset, int degree, bool constant, bool measured,
               Index budget, double threshold) {
                const KernelFunction function{kind, gamma, offset, degree, constant ? 1.0 : 0.0, nullptr};
                new (self) KernelOptions{function, measured, budget, threshold};
            },
            nb::kw_only(), arg("kind"), arg("gamma"), arg("offset"), arg("degree"), arg("constant"), arg("measured"),
            arg("budget"), arg("threshold"))
        .def_prop_ro("width", [](const KernelOptions& self) { return KernelModel::first_width(self.budget); })
        .def(
            "self_similarity",
            [](const KernelOptions& self, Vector x) {
                return kernel_engine().self_similarity(self.function, x.data(), static_cast<Index>(x.shape(0)));
            },
            arg("x"), "k(x, x), for a built-in kernel.");
    bind<double>(m, "Kernel64");
    bind<float>(m, "Kernel32");
}

} // namespace driftline::bindings
