// driftline._core.Auto64 and Auto32.
#include "state_checks.hpp"
#include "state_numbers.hpp"
#include "state.hpp"

#include "driftline/ensembles/auto_model.hpp"

namespace driftline::bindings {
namespace {

template <class T> struct AutoCore : Guarded {
    using Value = T;

    AutoCore(Index features, Index born, bool intercept, const Limits& labels)
        : model(std::make_unique<AutoModel<T>>(features, born, intercept, labels)) {
        make_room();
    }
    Index features() const { return model->features(); }
    Index width() const { return model->features() + model->inputs.intercept(); }
    const Limits& limits() const { return model->labels(); }
    bool read(nb::handle x, bool unknown_allowed) {
        const bool good = read_row(x.ptr(), buffer_, names, unknown_allowed);
        std::copy(row_.begin(), row_.end(), wide_.begin());
        return good;
    }
    const double* numbers() const { return wide_.data(); }
    bool load(const Numbers& row) {
        const bool good = load_row(row, buffer_);
        std::copy(row_.begin(), row_.end(), wide_.begin());
        return good;
    }
    Status predict(double& prediction) {
        prediction = model->predict(wide_.data(), model->coverage.delay);
        return Status::done;
    }
    Status predict(Outputs& out) {
        predict(*out.predictions);
        write_spread(out, 0, model->coverage, limits(), model->variance(), model->sums.largest_loss);
        return Status::done;
    }
    Status learn(double label, double share) {
        model->learn(wide_.data(), label, share);
        return Status::done;
    }
    Status ask(Asked& asked, Outputs& out) {
        *out.predictions = model->ask(wide_.data(), asked.delay, asked.record);
        write_spread(out, 0, model->coverage, limits(), model->variance(), model->sums.largest_loss);
        return Status::done;
    }
    Status tell(const Asked& asked, double label, double share) {
        if (asked.labels > 0 && model->features_then(asked.record) < 0)
            return Status::unread;
        return bindings::tell(*this, asked, label, [&] {
            if (asked.labels == sums().rows && (asked.delay == 0 || asked.labels == 0))
                model->learn(wide_.data(), label, share);
            else if (asked.labels == 0)
                model->tell_first(wide_.data(), label, share);
            else
                model->tell(wide_.data(), label, share, asked.prediction, asked.record);
            return Status::done;
        });
    }
    // Takes note of a row that cannot be learned. If it is `whole`, its features are those read last.
    void pass_over(bool whole, double label) { model->pass_over(whole ? wide_.data() : nullptr, label); }
    // Reads row t of a batch; returns false if a value is out of range.
    bool take(const Batch& batch, Index t) { return driftline::read_row<T>(batch, t, features(), wide_.data()); }
    Coverage& coverage() { return model->coverage; }
    Status replay(const Batch& batch, Outputs& out) { return model->replay(batch, out); }
    const AutoSums& sums() const { return model->sums; }
    nb::object weights() {
        std::vector<double> all(static_cast<std::size_t>(width()) + 1);
        model->weights(all.data());
        T* to;
        nb::object out = new_array(width(), to);
        for (Index j = 0; j < width(); ++j)
            to[j] = static_cast<T>(saturate(all[static_cast<std::size_t>(j)], type_max<T>));
        return out;
    }
    void grow(Index more) {
        model->grow(more);
        make_room();
    }
    void make_room() {
        row_.resize(static_cast<std::size_t>(features()) + 1);
        wide_.resize(row_.size());
        buffer_ = {features(), false, row_.data()};
    }

    std::unique_ptr<AutoModel<T>> model;
    Names names;

  private:
    std::vector<T> row_;
    std::vector<double> wide_; // the row that was read
    RowBuffer<T> buffer_;
};

template <class T> nb::dict get_state(AutoCore<T>& self) {
    InUse use(self);
    AutoModel<T>& model = *self.model;
    for (auto& expert : model.models())
        restart_where_broken(expert->state);
    restart_where_broken(model.mixer().top().state);
    model.team().each_model([](auto& one) { restart_where_broken(one.state); });
    model.team().visit(NonFiniteToZero{});
    std::vector<double> shape{static_cast<double>(model.inputs.born()), static_cast<double>(model.warm_count()),
                              static_cast<double>(model.long_run().sample.count())};
    const std::vector<double> layout = model.team().layout();
    shape.insert(shape.end(), layout.begin(), layout.end());
    nb::dict out;
    out["weights"] = self.weights();
    out["shape"] = copy_out(shape.data(), static_cast<Index>(shape.size()));
    out["coverage"] = copy_coverage(model.coverage);
    write_numbers(model, out);
    return out;
}

// An expert's sums must hold a count of rows and no pending reset, for which it has no memory.
template <class T> void check_expert(const SecondOrderState<T>& state) {
    check_matrix(state);
    const double rows = state.sums.rows;
    if (!(rows >= 0 && rows < 9e15) || rows != std::floor(rows) || state.sums.pending != 0)
        throw nb::value_error("the state's sums are out of range");
}

template <class T> void set_state(AutoCore<T>& self, const nb::dict& from) {
    InUse use(self);
    const AutoModel<T>& old = *self.model;
    ArrayOf<const double, 1> sizes;
    if (!from.contains("shape") || !nb::try_cast(from["shape"], sizes, false) || sizes.shape(0) < 3)
        throw nb::value_error("the state's shape is missing");
    std::vector<double> shape(sizes.shape(0));
    copy_in(from, "shape", shape.data(), static_cast<Index>(shape.size()));
    std::vector<T> effective(static_cast<std::size_t>(self.width()));
    copy_in(from, "weights", effective.data(), self.width());
    const Index features = old.features(), born = static_cast<Index>(shape[0]), warm = static_cast<Index>(shape[1]);
    if (!(shape[0] >= 0 && shape[0] <= static_cast<double>(features) && shape[1] >= 0 && shape[1] < warm_rows) ||
        static_cast<double>(born) != shape[0] || static_cast<double>(warm) != shape[1] ||
        !(shape[2] >= 0 && shape[2] <= static_cast<double>(StreamSample::most_rows)) || shape[2] != std::floor(shape[2]))
        throw nb::value_error("the state's shape is out of range");
    auto fresh = std::make_unique<AutoModel<T>>(features, born, old.inputs.intercept(), old.labels());
    AutoModel<T>& model = *fresh;
    set_coverage(from, model.coverage);
    model.expect_warm(warm);
    model.long_run().sample.expect(static_cast<Index>(shape[2]));
    if (!model.team().set_layout({shape.begin() + 3, shape.end()}))
        throw nb::value_error("the state's shape is out of range");
    read_numbers(from, model);
    const double rows = model.sums.rows;
    if (!(rows >= 0 && rows < 9e15) || rows != std::floor(rows) ||
        (rows < warm_rows ? rows : 0) != static_cast<double>(warm) || model.inputs.label_memory.rows != rows)
        throw nb::value_error("the state's sums are out of range");
    for (auto& expert : model.models())
        check_expert(expert->state);
    check_expert(model.mixer().top().state);
    model.team().each_model([](auto& one) { check_expert(one.state); });
    if (!model.team().has_good_counts() || !model.team().complete(rows) || !model.long_run().sample.good(rows))
        throw nb::value_error("the state's experts are not what learning leads to");
    model.mixer().weigh();
    self.model = std::move(fresh);
    self.make_room();
}

// One of the core's experts as Python sees it. A view of -1 is the last label, of -2 the mean of the labels.
struct ExpertReport {
    int view;
    Time time;
    double amount, start, reset, sudden, share, memory, drift;
};

template <class T> std::vector<ExpertReport> experts(AutoCore<T>& self) {
    InUse use(self);
    AutoModel<T>& model = *self.model;
    std::vector<double> shares(model.experts());
    model.mixer().shares(shares.data());
    std::vector<ExpertReport> out;
    const std::size_t last = model.kinds().size();
    for (std::size_t k = 0; k < shares.size(); ++k) {
        const ExpertKind kind = k < last ? model.kinds()[k] : ExpertKind{};
        const int view = k < last ? static_cast<int>(kind.view) : k == last ? -1 : -2;
        const Time time = k < last ? kind.time : Time::none;
        out.push_back(
            {view, time, kind.amount, kind.start, kind.reset, kind.sudden, shares[k], model.memory(k), model.drift(k)});
    }
    return out;
}

// The weights of the linear core, of the clamped core, and of the other experts, in the order of Member.
template <class T> nb::object team(AutoCore<T>& self) {
    InUse use(self);
    double shares[members];
    self.model->team().shares(shares);
    return copy_out(shares, members);
}

// The predictions of the linear core and the other experts for a row whose label comes `delay` rows late, in the order of
// Member.
template <class T> nb::object said(AutoCore<T>& self, ArrayOf<const double, 1> x, Index delay) {
    InUse use(self);
    if (static_cast<Index>(x.shape(0)) != self.features() || delay < 0)
        throw nb::value_error("the row has another length");
    self.model->predict(x.data(), delay);
    return copy_out(self.model->team().record() + Team::head_size, members);
}

// The keys of the profiles as (first feature, second or -1, share of the variance that the level explains).
template <class T> nb::list profiles(AutoCore<T>& self) {
    InUse use(self);
    nb::list out;
    for (Index s = 0; s < profile_slots; ++s) {
        const Profiles::Choice choice = self.model->team().profiles().choice(s);
        if (choice.first >= 0)
            out.append(nb::make_tuple(choice.first, choice.second, 1 - choice.left));
    }
    return out;
}

// Each column's share of the splits' gain, in the order of the ensembles: trees, residual trees, feature trees.
template <class T> nb::tuple importance(AutoCore<T>& self) {
    InUse use(self);
    const Team& team = self.model->team();
    const auto of = [](const Trees& trees) {
        std::vector<double> out(static_cast<std::size_t>(trees.columns()));
        trees.importance(out.data());
        return copy_out(out.data(), trees.columns());
    };
    return nb::make_tuple(of(team.trees()), of(team.residual_trees()), of(team.feature_trees()));
}

template <class T> nb::object memory(AutoCore<T>& self) {
    InUse use(self);
    double numbers[2];
    self.model->memory_statistics(numbers);
    return copy_out(numbers, 2);
}

template <class T> void bind(nb::module_& m, const char* name) {
    using nb::arg;
    using Core = AutoCore<T>;
    auto core = nb::class_<Core>(m, name, "State and steps of Auto.")
                    .def(
                        "__init__",
                        [](Core* self, Index d, bool intercept, const Limits& limits) {
                            new (self) Core(d - intercept, d - intercept, intercept, limits);
                        },
                        arg("d"), arg("intercept"), arg("limits"))
                    .def(
                        "set_limits",
                        [](Core& self, const Limits& limits) {
                            InUse use(self);
                            self.model->set_labels(limits);
                        },
                        arg("limits"), "Takes effect from the next row on.");
    bind_verbs(core);
    core.def("memory", &memory<T>, nb::sig("def memory(self) -> typing.Any"),
             "Rows of memory, and the drift of a weight a row.")
        .def("get_state", &get_state<T>)
        .def("set_state", &set_state<T>, arg("state"))
        .def("experts", &experts<T>)
        .def("team", &team<T>, nb::sig("def team(self) -> typing.Any"))
        .def("said", &said<T>, nb::arg("x"), nb::arg("delay"),
             nb::sig("def said(self, x: typing.Any, delay: int) -> typing.Any"))
        .def("profiles", &profiles<T>, nb::sig("def profiles(self) -> list[tuple[int, int, float]]"))
        .def("importance", &importance<T>, nb::sig("def importance(self) -> tuple[typing.Any, typing.Any, typing.Any]"));
}

// The final mixture alone, for experts in Python. It stores the layers and the result of its last prediction.
struct FinalMixtureCore {
    explicit FinalMixtureCore(Index count) : count(count), mixture(count) {}
    Index count;
    FinalMixture mixture;

    nb::object mix(const ArrayOf<const double, 1>& said) const {
        require(said, count);
        double out[FinalMixture::layers + 1];
        out[FinalMixture::layers] = saturate(mixture.mix(said.data(), out), DBL_MAX);
        return copy_out(out, FinalMixture::layers + 1);
    }
    void learn(const ArrayOf<const double, 1>& said, const ArrayOf<const double, 1>& mixed, double y, double weight,
               Index delay) {
        require(said, count);
        require(mixed, FinalMixture::layers + 1);
        mixture.learn(said.data(), mixed.data(), mixed.data()[FinalMixture::layers], y, weight, delay);
    }
    nb::object shares() const {
        std::vector<double> out(static_cast<std::size_t>(count));
        mixture.shares(out.data());
        return copy_out(out.data(), count);
    }
    nb::dict get_state() {
        nb::dict out;
        write_numbers(mixture, out);
        return out;
    }
    void set_state(const nb::dict& from) {
        FinalMixture fresh(count);
        read_numbers(from, fresh);
        fresh.weigh();
        mixture = std::move(fresh);
    }
    static void require(const ArrayOf<const double, 1>& array, Index size) {
        if (static_cast<Index>(array.shape(0)) != size)
            throw nb::value_error("the state's final mixture has another size");
    }
};

} // namespace

void bind_auto(nb::module_& m) {
    nb::class_<FinalMixtureCore>(m, "FinalMixture", "Mixes several predictions into one; it starts out trusting the first.")
        .def(nb::init<Index>(), nb::arg("count"))
        .def("mix", &FinalMixtureCore::mix, nb::arg("said"), nb::sig("def mix(self, said: typing.Any) -> typing.Any"))
        .def("learn", &FinalMixtureCore::learn, nb::arg("said"), nb::arg("mixed"), nb::arg("y"), nb::arg("weight"),
             nb::arg("delay"),
             nb::sig("def learn(self, said: typing.Any, mixed: typing.Any, y: float, weight: float, delay: int) -> None"))
        .def("shares", &FinalMixtureCore::shares, nb::sig("def shares(self) -> typing.Any"))
        .def("get_state", &FinalMixtureCore::get_state)
        .def("set_state", &FinalMixtureCore::set_state, nb::arg("state"));
    nb::class_<ExpertReport>(m, "Expert", "One of Auto's experts.")
        .def_ro("view", &ExpertReport::view, "the number of its feature view; -1: the last label, -2: the labels' mean")
        .def_ro("time", &ExpertReport::time)
        .def_ro("amount", &ExpertReport::amount)
        .def_ro("start", &ExpertReport::start)
        .def_ro("reset", &ExpertReport::reset)
        .def_ro("sudden", &ExpertReport::sudden, "how sure it must be of a jump to start over")
        .def_ro("share", &ExpertReport::share, "its share of the mixture")
        .def_ro("memory", &ExpertReport::memory, "rows of memory")
        .def_ro("drift", &ExpertReport::drift);
    bind<double>(m, "Auto64");
    bind<float>(m, "Auto32");
    m.attr("auto_sums") = nb::make_tuple("rows", "loss", "largest_loss", "expert_resets", "rescalings", "outliers", "gaps");
    static_assert(auto_sums_count == 7);
}

} // namespace driftline::bindings
