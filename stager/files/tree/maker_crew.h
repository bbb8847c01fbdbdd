// How do several threads make a block's small files?
//
// To make a file costs the kernel ten times what it costs to write its few bytes. Each thread
// takes some neighbours at a time: those lie mostly in one directory, in which only one can
// be made at once. The caller's own thread is one of them; the others begin when there is
// enough to do, and wait between blocks.
#pragma once

#include "stager/files/tree/tree_maker.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace stage {

class MakerCrew {
  public:
    /// A file, and all of its data.
    struct Whole {
        std::uint32_t node = 0;
        Bytes bytes;
    };
    struct Failure {
        std::uint32_t node = 0;
        int cause = 0;
    };

    /// As many as there are processors, but no more than this.
    static constexpr unsigned kMostThreads = 4;
    [[nodiscard]] static unsigned threads_here();

    /// `index` and `own` must outlive this; `own` is the calling thread's.
    MakerCrew(const TreeIndex& index, TreeMaker& own, unsigned threads);
    MakerCrew(const MakerCrew&) = delete;
    MakerCrew& operator=(const MakerCrew&) = delete;
    ~MakerCrew();

    /// Makes them all. If one can't be made, some of the others are not; names the first that
    /// was tried in vain.
    [[nodiscard]] std::optional<Failure> make(std::span<const Whole> files);

  private:
    struct Helper {
        TreeMaker maker;
        std::jthread thread;
    };

    void enlist();
    void help(TreeMaker& maker, const std::stop_token& stop);
    void take_some(TreeMaker& maker, std::span<const Whole> files);
    void note(Failure failure);

    const TreeIndex& index_;
    TreeMaker& own_;
    unsigned threads_;

    std::mutex mutex_;
    std::condition_variable_any wakes_;
    std::condition_variable_any rests_;
    std::span<const Whole> files_;  ///< Of this turn.
    unsigned turn_ = 0;
    unsigned busy_ = 0;  ///< Helpers that have not seen the end of the turn.
    std::optional<Failure> failure_;

    std::atomic<std::size_t> next_ = 0;             ///< File that nobody has taken yet.
    std::vector<std::unique_ptr<Helper>> helpers_;  ///< Last: they use all of the above.
};

}  // namespace stage
