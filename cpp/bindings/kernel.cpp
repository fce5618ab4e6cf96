// driftline._core.Kernel64 and Kernel32: second-order learners in a space of functions. The state is of doubles in both; the
// rows of the latter are floats.
#include "second_order_state.hpp"
#include "state_numbers.hpp"

#include <exception>

#include "driftline/kernels/model.hpp"

namespace driftline::bindings {
namespace {

// A kernel that only Python knows.
class Callable : public PairFunction {
  public:
    explicit Callable(nb::object function) : function_(std::move(function)) {}
    double operator()(const double* x, const double* z, Index d) override {
        nb::gil_scoped_acquire held;
        try {
            const nb::object value = function_(copy_out(x, d), copy_out(z, d));
            const double number = read_number<double>(value.ptr());
            if (std::isnan(number))
                throw nb::value_error(("Kernel: kernel gave " + std::string(nb::repr(value).c_str()) +
                                       " for two rows, where a finite number is needed")
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

using Learner = Holder<SecondOrderModel<double>>;

template <class T> struct Kernel : Learner {
    Kernel(Index features, Index width, const Policy& policy, KernelOptions options, nb::object function)
        : Learner{std::make_unique<SecondOrderModel<double>>(width, false, policy), {}, {}, 0},
          callable(std::move(function)) {
        if (options.function.kind == KernelKind::custom)
            options.function.custom = &callable;
        kernel = std::make_unique<KernelModel>(model, features, options);
        make_room();
    }
    void make_room() {
        row_.resize(static_cast<std::size_t>(kernel->features()) + 1);
        wide_.resize(row_.size());
        state = {kernel->features(), false, row_.data()};
    }
    const double* row() {
        std::copy(row_.begin(), row_.end(), wide_.begin());
        return wide_.data();
    }
    Callable callable;
    std::unique_ptr<KernelModel> kernel;
    struct {
        Index d = 0;
        bool intercept = false;
        T* x = nullptr;
    } state; // where a row is put that Python hands over

  private:
    std::vector<T> row_;
    std::vector<double> wide_;
};

template <class T> Learner& learner(Kernel<T>& self) { return self; }

// Predicts the row at hand, and learns it where there is a label.
template <class T> bool take_step(Kernel<T>& self, const double* y, double weight, Outputs& out) {
    const Status status = self.kernel->step(self.row(), y, weight, out, 0);
    self.callable.rethrow();
    return status == Status::done;
}

template <class T> nb::object predict(Kernel<T>& self, nb::handle x) {
    InUse use(learner(self));
    double prediction = 0;
    Outputs out;
    out.predictions = &prediction;
    if (!read_row(x.ptr(), self.state, self.names, true) || !take_step(self, nullptr, 1, out))
        return nb::none();
    return nb::float_(prediction);
}

template <class T> nb::object predict_interval(Kernel<T>& self, nb::handle x, const Level& level) {
    InUse use(learner(self));
    double prediction = 0, lower = 0, upper = 0;
    Outputs out;
    out.predictions = &prediction;
    out.lower = &lower;
    out.upper = &upper;
    out.level = level;
    if (!read_row(x.ptr(), self.state, self.names, true) || !take_step(self, nullptr, 1, out))
        return nb::none();
    return nb::make_tuple(lower, upper);
}

template <class T> bool learn(Kernel<T>& self, nb::handle x, nb::handle y, nb::handle weight) {
    InUse use(learner(self));
    const double label = read_number<T>(y.ptr());
    const double share = weight.is_none() ? 1 : read_number<double>(weight.ptr());
    double prediction = 0;
    Outputs out;
    out.predictions = &prediction;
    return share > 0 && !std::isnan(label) && read_row(x.ptr(), self.state, self.names, false) &&
           take_step(self, &label, share, out);
}

template <class T>
nb::tuple run(Kernel<T>& self, Table2 x, std::optional<Vector> y, std::optional<Vector> weight, bool skip,
              OutVector predictions, std::optional<OutVector> lower, std::optional<OutVector> upper,
              std::optional<Level> level, std::optional<OutIndices> resets, nb::object, Index, Index start, nb::object) {
    InUse use(learner(self));
    const Batch batch = make_batch(x, y, weight, skip, self.kernel->features());
    std::optional<OutTable> none;
    Outputs out = make_outputs(batch, predictions, resets, none, 0, start, 0);
    if (lower && upper && level)
        add_intervals(out, batch, *lower, *upper, *level);
    nb::tuple done = replay_freely(
        batch, out, [&](const Batch& rows, Outputs& into) { return self.kernel->template replay<T>(rows, into); });
    self.callable.rethrow();
    return done;
}

template <class T> nb::dict kernel_state(Kernel<T>& self) {
    nb::dict out = get_state<double>(self);
    InUse use(learner(self));
    KernelModel& kernel = *self.kernel;
    Collector all;
    kernel.visit(all);
    const double shape[] = {static_cast<double>(kernel.features()), static_cast<double>(kernel.dictionary().count()),
                            static_cast<double>(kernel.first.rows())};
    out["shape"] = copy_out(shape, 3);
    out["numbers"] = copy_out(all.numbers.data(), static_cast<Index>(all.numbers.size()));
    return out;
}

// What the dictionary's numbers must be for the core to trust them.
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

// On a fresh object, for a state that may be anything.
template <class T> void set_kernel_state(Kernel<T>& self, const nb::dict& from) {
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
    InUse use(learner(self));
    kernel.dictionary().expect(static_cast<Index>(shape[1]));
    kernel.first.expect(static_cast<Index>(shape[2]), kernel.features());
    Counter count;
    kernel.visit(count);
    std::vector<double> numbers(static_cast<std::size_t>(count.numbers));
    copy_in(from, "numbers", numbers.data(), count.numbers);
    kernel.visit(Filler{numbers.data(), nullptr});
    check_kernel(kernel, self.model->state.sums);
    if (!(self.model->state.sums.rows < FirstRows::most))
        kernel.first.close();
}

// The points, row after row.
template <class T> nb::object points(Kernel<T>& self) {
    InUse use(learner(self));
    const PointTable table = self.kernel->dictionary().table();
    double* to;
    nb::object out = new_array(table.count * table.features, to);
    for (Index i = 0; i < table.count; ++i)
        for (Index j = 0; j < table.features; ++j)
            *to++ = table.at[j * table.stride + i];
    return out;
}

KernelOptions make_options(int kind, double gamma, double offset, int degree, bool constant, bool measured, Index budget,
                           double threshold) {
    const KernelFunction function{static_cast<KernelKind>(kind), gamma, offset, degree, constant ? 1.0 : 0.0, nullptr};
    return {function, measured, budget, threshold};
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    nb::class_<Kernel<T>, Learner>(m, name, "A second-order learner in a space of functions.")
        .def(
            "__init__",
            [](Kernel<T>* self, Index features, Index width, const Policy& policy, const KernelOptions& options,
               nb::object function) {
                const Index own = KernelModel::first_width(options.budget);
                if (width < own || (options.budget > 0 && width > own))
                    throw nb::value_error("the state's weights are of another budget");
                new (self) Kernel<T>(features, width, policy, options, std::move(function));
            },
            arg("features"), arg("width"), arg("policy"), arg("options"), arg("function").none())
        .def("predict", &predict<T>, arg("x").none(), "The prediction, or None where x has to be converted first.")
        .def("predict_interval", &predict_interval<T>, arg("x").none(), arg("level"),
             "Both ends of the interval, or None where x has to be converted first.")
        .def("learn", &learn<T>, arg("x").none(), arg("y").none(), arg("weight") = nb::none(),
             "False, with nothing changed, where the row needs Python's care.")
        .def("run", &run<T>, arg("x"), arg("y").none(), arg("weight").none(), arg("skip"), arg("predictions"),
             arg("lower").none(), arg("upper").none(), arg("level").none(), arg("resets").none(), arg("weights").none(),
             arg("every"), arg("start"), arg("pace") = nb::none(),
             "Replays rows from `start`; returns status, rows done, resets written and rows skipped.")
        .def_prop_ro("features", [](Kernel<T>& self) { return self.kernel->features(); })
        .def_prop_ro("gamma", [](Kernel<T>& self) { return self.kernel->options().function.gamma; })
        .def_prop_ro("tau", [](Kernel<T>& self) { return self.kernel->tau(); })
        .def_prop_ro("counts", [](Kernel<T>& self) { return nb::make_tuple(self.kernel->projected, self.kernel->removed); })
        .def("points", &points<T>, "The points, one after the other.")
        .def(
            "triangle",
            [](Kernel<T>& self) {
                InUse use(learner(self));
                const Index n = self.kernel->dictionary().count();
                return copy_out(self.kernel->dictionary().triangle(), n * (n + 1) / 2);
            },
            "The coordinates of the points: the rows of a lower triangle, one after the other.")
        .def("get_state", &kernel_state<T>)
        .def("set_state", &set_kernel_state<T>, arg("state"))
        .def(
            "grow",
            [](Kernel<T>& self, Index more) {
                InUse use(learner(self));
                self.kernel->grow(more);
                self.make_room();
            },
            arg("more"));
}

} // namespace

void bind_kernel(nb::module_& m) {
    using nb::arg;
    nb::class_<KernelOptions>(m, "KernelOptions", "A kernel, and how many points are kept.")
        .def(
            "__init__",
            [](KernelOptions* self, int kind, double gamma, double offset, int degree, bool constant, bool measured,
               Index budget, double threshold) {
                new (self) KernelOptions(make_options(kind, gamma, offset, degree, constant, measured, budget, threshold));
            },
            nb::kw_only(), arg("kind"), arg("gamma"), arg("offset"), arg("degree"), arg("constant"), arg("measured"),
            arg("budget"), arg("threshold"))
        .def_prop_ro("width", [](const KernelOptions& self) { return KernelModel::first_width(self.budget); })
        .def(
            "self_similarity",
            [](const KernelOptions& self, Vector x) {
                return kernel_engine().self_similarity(self.function, x.data(), static_cast<Index>(x.shape(0)));
            },
            arg("x"), "k(x, x), of a kernel that is known here.");
    bind<double>(m, "Kernel64");
    bind<float>(m, "Kernel32");
}

} // namespace driftline::bindings
