// Replays many rows through Auto.
//
// Experts depend on rows and labels alone, never on the mixture. The linear core does not depend on the team, and within
// the team only the trees and the final mixture use other members' predictions. A block of rows can therefore pass through
// one expert after another, then the mixer, the team's linear experts, its trees and its final mixture, with the same result
// as row by row.
#pragma once

#include <atomic>

#include "driftline/base/machine.hpp"
#include "driftline/base/worker.hpp"
#include "driftline/ensembles/auto_inputs.hpp"
#include "driftline/ensembles/auto_upkeep.hpp"
#include "driftline/ensembles/team.hpp"

namespace driftline {

template <class T> class AutoModel;

template <class T> class AutoReplay {
  public:
    explicit AutoReplay(AutoModel<T>& model) : m_(model) {}

    // The linear experts run one block ahead, and so do the first trees for three quarters of its rows. A second thread, if
    // one is available, runs them for the rest of the preceding block, then the other trees and the final mixture: about
    // half of the work. The two synchronise for the first trees, and for rows that are processed singly.
    Status run(const Batch& batch, Outputs& out) {
        const ThreadClaim claim;
        Worker worker;
        const bool two_threads = batch.y && batch.rows - out.done >= 2 * most_block && claim.has_room() && worker.hire();
        const auto first = [&] { finish_block(batch, out, blocks_[0]); };
        const auto second = [&] { finish_block(batch, out, blocks_[1]); };
        Index turn = 0;
        while (out.done < batch.rows) {
            RowAction action = RowAction::learn;
            Block& block = blocks_[turn];
            read_block(batch, out, action, block);
            if (block.rows > 1) {
                begin_block(batch, out, block, two_threads ? block.rows * 3 / 4 : block.rows);
                worker.wait();
                trees_are_free_.store(false, std::memory_order_relaxed);
                if (!two_threads)
                    finish_block(batch, out, block);
                else if (turn == 0)
                    worker.start(first);
                else
                    worker.start(second);
                turn = 1 - turn;
            } else {
                worker.wait();
                if (block.rows == 0 && action == RowAction::refuse)
                    return Status::bad_value;
                replay_row(batch, out, block.rows == 1 ? RowAction::learn : action, block.x.data());
            }
            keep_snapshot(out);
        }
        worker.wait();
        return Status::done;
    }

  private:
    // Rows that pass through the experts together.
    struct Block {
        Index first = 0, rows = 0;
        Index in_trees = 0;                // rows that the first trees have learned
        std::vector<double> x;             // the rows
        std::vector<LabelMemory> memories; // before each row
        std::vector<LabelRange> ranges;    // before each row
        std::vector<double> records;       // of the team
    };
    // Reads the rows that can form a block. A block ends before a row that is not learned; `action` says how to treat that
    // row. A possible outlier, and the row after an outlier, are each processed alone. Scales change and snapshots are taken
    // only after the last row of a block.
    void read_block(const Batch& batch, const Outputs& out, RowAction& action, Block& block) {
        Index most = 1;
        if (!m_.warm() && m_.inputs.label_memory.held == 0)
            for (Index n = static_cast<Index>(m_.sums.rows) + 1; most < most_block && (n & (n - 1)) != 0; ++n)
                ++most;
        most = std::min(most, batch.rows - out.done);
        if (out.weights || out.memory)
            most = std::min(most, out.every - out.done % out.every);
        block.first = out.done;
        block.x.resize(most * m_.features());
        block.memories.resize(most);
        LabelMemory memory = m_.inputs.label_memory;
        for (block.rows = 0; block.rows < most; ++block.rows) {
            const Index row = block.first + block.rows;
            action = row_action<T>(batch, row,
                                   read_row<T>(batch, row, m_.features(), block.x.data() + block.rows * m_.features()));
            if (action != RowAction::learn)
                return;
            if (memory.unusual(batch.y[row])) {
                block.rows = std::max<Index>(block.rows, 1);
                return;
            }
            block.memories[block.rows] = memory;
            memory.add(batch.y[row]);
        }
    }
    void show(const Outputs& out, Index t, double prediction, double variance) {
        out.predictions[t] = prediction;
        if (out.spread())
            write_spread(out, t, m_.coverage, m_.labels(), variance, m_.sums.largest_loss);
    }
    // Labels are taken to lie on either side as often as those of the next rows.
    void predict_apart(const Outputs& out, Index t, const double* x) {
        out.predictions[t] = m_.labels().hold(m_.long_run_.predict(x));
        if (!out.spread())
            return;
        catch_up(m_.coverage);
        IntervalBasis basis = m_.long_run_.basis();
        basis.limits = m_.labels();
        write_spread(out, t, basis, m_.coverage.places);
    }
    void replay_row(const Batch& batch, Outputs& out, RowAction action, const double* x) {
        const Index t = out.done++;
        out.predictions[t] = NAN;
        write_no_spread(out, t);
        if (action != RowAction::pass) {
            if (out.apart && !batch.y) {
                predict_apart(out, t, x);
            } else {
                const double prediction = m_.predict(x, m_.coverage.delay);
                show(out, t, prediction, m_.variance());
            }
        }
        if (action == RowAction::learn) {
            m_.learn(x, batch.y[t], weight_of(batch, t));
        } else if (was_skipped<T>(batch, t, action)) {
            ++out.skipped;
            if (batch.y)
                m_.pass_over(action == RowAction::pass ? nullptr : x, batch.y[t]);
        }
    }
    void keep_snapshot(const Outputs& out) const {
        const Index place = out.every > 0 && out.done % out.every == 0 ? out.done / out.every - 1 : -1;
        if (out.weights && place >= 0)
            m_.weights(out.weights + place * (m_.features() + m_.inputs.intercept()));
        if (out.memory && place >= 0)
            m_.memory_statistics(out.memory + 2 * place);
    }
    // Runs the linear experts, and the first trees for some of the rows. Leaves the residual trees, the final mixture, the
    // coverage and the loss sums alone: those belong to finish_block.
    void begin_block(const Batch& batch, Outputs& out, Block& block, Index in_trees) {
        const Index first = block.first, rows = block.rows, columns = static_cast<Index>(m_.kinds_.size());
        Team& team = m_.team_;
        block.ranges.resize(rows);
        block.records.resize(rows * team.record_size());
        see_block(batch, block);
        table_.resize(columns * rows);
        for (Index k = 0; k < columns; ++k)
            replay_expert(static_cast<std::size_t>(k), batch, first, rows, table_.data() + k * rows);
        for (Index t = 0; t < rows; ++t) {
            for (Index k = 0; k < columns; ++k)
                m_.predictions_[k] = table_[k * rows + t];
            m_.complete(block.memories[t]);
            const double *x = block.x.data() + t * m_.features(), y = batch.y[first + t],
                         weight = weight_of(batch, first + t);
            double* record = block.records.data() + t * team.record_size();
            block.ranges[t] = team.ask_linear(x, 0, m_.mix_and_learn(y, weight), record);
            team.teach_linear(record, m_.features(), x, y, weight);
            m_.long_run_.sample.add(x, y, weight);
        }
        trees_are_free_.wait(false, std::memory_order_acquire);
        block.in_trees = 0;
        run_trees(batch, block, in_trees);
        m_.sums.rows += static_cast<double>(rows);
        m_.rescale_when_due();
        out.done = first + rows;
    }
    void run_trees(const Batch& batch, Block& block, Index end) {
        for (; block.in_trees < end; ++block.in_trees) {
            const Index t = block.first + block.in_trees;
            double* record = block.records.data() + block.in_trees * m_.team_.record_size();
            m_.team_.ask_trees(record);
            m_.team_.teach_trees(record, batch.y[t], weight_of(batch, t));
        }
    }
    void free_trees() {
        trees_are_free_.store(true, std::memory_order_release);
        trees_are_free_.notify_one();
    }
    // Computes the core experts' inputs for each row.
    void see_block(const Batch& batch, const Block& block) {
        for (const FeatureView view : m_.used_views_)
            seen_[static_cast<int>(view)].resize(block.rows * m_.inputs.width(view));
        for (Index t = 0; t < block.rows; ++t) {
            const double* x = block.x.data() + t * m_.features();
            m_.inputs.recall(x, 0, m_.past_);
            m_.inputs.look_at(x, m_.past_);
            for (const FeatureView view : m_.used_views_)
                m_.inputs.write(view, seen_[static_cast<int>(view)].data() + t * m_.inputs.width(view));
            m_.inputs.remember(x, batch.y[block.first + t], true);
        }
    }
    // Runs the remaining team members, writes the predictions and scores them.
    void finish_block(const Batch& batch, const Outputs& out, Block& block) {
        Team& team = m_.team_;
        try {
            run_trees(batch, block, block.rows);
        } catch (...) { // the other thread must not wait for ever
            free_trees();
            throw;
        }
        free_trees();
        for (Index i = 0; i < block.rows; ++i) {
            const Index t = block.first + i;
            const double y = batch.y[t], weight = weight_of(batch, t);
            double* record = block.records.data() + i * team.record_size();
            team.ask_residual_trees(record);
            team.ask_feature_trees(record);
            const double prediction = team.mix(record, block.ranges[i]);
            show(out, t, prediction, team.variance_of(record));
            team.teach_residual_trees(record, y, weight);
            team.teach_feature_trees(record, y, weight);
            team.teach_final_mixture(record, y, weight);
            team.teach_scale(record, m_.features(), y, weight);
            m_.judge(y, out.predictions[t], team.variance_of(record));
        }
    }
    void replay_expert(std::size_t k, const Batch& batch, Index first, Index rows, double* to) {
        const FeatureView view = m_.kinds_[k].view;
        const double* seen = seen_[static_cast<int>(view)].data();
        const double origin = m_.inputs.origin(view);
        SecondOrderState<T>& state = m_.models_[k]->state;
        if (m_.kinds_[k].reset > 0) {
            for (Index t = 0; t < rows; ++t, seen += state.d) {
                for (Index j = 0; j < state.d; ++j)
                    state.x[j] = static_cast<T>(seen[j]);
                m_.teach(k, batch.y[first + t], weight_of(batch, first + t), to[t]);
            }
        } else {
            labels_.resize(rows);
            for (Index t = 0; t < rows; ++t)
                labels_[t] = saturate(batch.y[first + t] - origin, type_max<T>);
            replay_seen(state, seen, labels_, batch.weight ? batch.weight + first : nullptr, to);
        }
        for (Index t = 0; t < rows; ++t)
            to[t] += origin;
    }

    AutoModel<T>& m_;
    Block blocks_[2];
    std::atomic<bool> trees_are_free_{true};                   // false while the second thread may use the first trees
    std::vector<double> seen_[feature_views], table_, labels_; // of the current block
};

} // namespace driftline
