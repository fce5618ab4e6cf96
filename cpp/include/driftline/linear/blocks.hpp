// Base of the replays by blocks of rows, for matrices larger than a core's cache, which each row would fetch from memory.
//
// S depends neither on the weights nor on the labels. So the rows of a block update S first, and then the weights.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/base/worker.hpp"
#include "driftline/linear/second_order.hpp"
#include "driftline/base/storage.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

template <class T> class BlockReplay {
  public:
    BlockReplay(SecondOrderState<T>& m, const Batch& batch, Outputs& out, bool two_threads, Index capacity, Index patience)
        : m_(m), batch_(batch), out_(out), reader_(batch, m.d, m.intercept), usual_(usual_view(m)),
          extras_(extras_of(m, batch.weight != nullptr)), size_(padded<T>(m.d)), capacity_(capacity), patience_(patience),
          alone_(!two_threads || !worker_.hire()) {}
    virtual ~BlockReplay() = default;
    BlockReplay(const BlockReplay&) = delete;

    Status run() {
        Status status = Status::done;
        while (status == Status::done && out_.done < batch_.rows)
            if (!learn_block())
                status = learn_singly();
        m_.ready = false;
        return status;
    }

    // Rows that were learned in blocks.
    Index in_blocks() const { return in_blocks_; }

  protected:
    SecondOrderState<T>& m_;
    const Batch& batch_;
    Outputs& out_;
    const Reader<0, T> reader_;
    const View usual_;
    Extras extras_;
    const Index size_;
    const Index capacity_; // most rows of a block
    const Index patience_; // rows to learn singly before another block is tried
    Worker worker_;
    const bool alone_; // there is no second thread

    // Learns rows that are certain to need only the plain step. False, with nothing changed, if the next row is not one.
    virtual bool learn_block() = 0;
    // Invalidates the products formed for the next rows.
    virtual void forget_products() = 0;

    // The most rows of a block that begins `later` rows from here: it ends with the first row after which something is due.
    Index most_rows(Index later = 0) const {
        const Index done = out_.done + later, seen = static_cast<Index>(m_.sums.rows) + later;
        Index most = std::min(capacity_, batch_.rows - done);
        if (m_.policy.reset == Reset::every) // without times
            most = std::min(most, m_.policy.period - seen % m_.policy.period);
        return most;
    }

    // Looks at the row `later` rows ahead, without S; false if it cannot be part of a block.
    bool look_ahead(T* x, Index later, View& view) const {
        const Index t = out_.done + later;
        view = usual_;
        view.norm2 = dot(x, x, size_);
        const double at = batch_.times ? batch_.times[t] : NAN;
        const double last = later > 0 && batch_.times ? batch_.times[t - 1] : m_.sums.last_time;
        return row_action(batch_, t, x, size_, view.norm2) == RowAction::learn &&
               look_up_forgetting(m_, view, at, last, later) == Status::done && view.share == 1;
    }

    // Finishes the next row, after it updated S with noise rho.
    void conclude_row(T* x, T* k, View view, double rho, const T* next) {
        const Index t = out_.done;
        T* const own = m_.x;
        m_.x = x;
        m_.at = batch_.times ? batch_.times[t] : NAN;
        look(m_, view, size_);
        view.norm2 = at_most(view.norm2, DBL_MAX);
        const LabelUpdate change = compare(m_, view, extras_, batch_.y[t], rho);
        show(m_, view, change.shown, out_, t);
        Row<0, T> row(m_.factor);
        row.k = k;
        const double resets = m_.sums.resets;
        conclude(m_, row, view, extras_, change, batch_.y[t], weight_of(batch_, t), next);
        if (out_.resets && m_.sums.resets > resets)
            out_.resets[t] = 1;
        snapshot(out_, m_.w, m_.d, t);
        note_memory(out_, m_, t);
        m_.x = own;
        m_.at = NAN;
        ++out_.done;
        ++in_blocks_;
    }

  private:
    Index in_blocks_ = 0;

    // After a row with a missing value, a block is tried at once; after other exceptions, only after some rows.
    Status learn_singly() {
        forget_products();
        View view;
        reader_.take(m_.x, out_.done);
        Batch some = batch_;
        some.rows = std::min(batch_.rows, out_.done + (look_ahead(m_.x, 0, view) ? patience_ : 1));
        return replay<0>(m_, some, out_, true);
    }
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
