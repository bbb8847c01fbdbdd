// Makes the small files of a block with several threads.
//
// Making a file costs the kernel ten times as much as writing its few bytes. Each thread takes
// several neighbouring files at a time, because those are mostly in one directory, in which
// only one file can be made at once. The caller's own thread is one of them; the others are
// started when there is enough to do, and wait between blocks.
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
    /// A file with all of its data.
    struct Whole {
        std::uint32_t node = 0;
        Bytes bytes;
    };
    struct Failure {
        std::uint32_t node = 0;
        int cause = 0;
    };

    /// The limit of threads; there are not more than processors either.
    static constexpr unsigned kMostThreads = 4;
    [[nodiscard]] static unsigned threads_here();

    /// `index` and `own` must outlive this object; `own` is the calling thread's.
    MakerCrew(const TreeIndex& index, TreeMaker& own, unsigned threads);
    MakerCrew(const MakerCrew&) = delete;
    MakerCrew& operator=(const MakerCrew&) = delete;
    ~MakerCrew();

    /// Makes all files. If one fails, some of the others are not made; returns the first
    /// failure.
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
    std::span<const Whole> files_;  ///< The files of the current turn.
    unsigned turn_ = 0;
    unsigned busy_ = 0;  ///< Helpers that have not finished the turn.
    std::optional<Failure> failure_;

    std::atomic<std::size_t> next_ = 0;             ///< The first file not taken by a thread.
    std::vector<std::unique_ptr<Helper>> helpers_;  ///< Last, since they use all members above.
};

}  // namespace stage
