#include "stager/files/tree/maker_crew.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace stage {
namespace {

/// Waking another thread costs as much as making some files.
constexpr std::size_t kWorthHelp = 32;
constexpr std::size_t kNeighbours = 16;

}  // namespace

unsigned MakerCrew::threads_here() {
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
}

MakerCrew::MakerCrew(const TreeIndex& index, TreeMaker& own, unsigned threads)
    : index_{index}, own_{own}, threads_{threads} {
}

MakerCrew::~MakerCrew() = default;

/// If the user's limits allow no more threads or descriptors, fewer threads are used.
void MakerCrew::enlist() {
    while (helpers_.size() + 1 < threads_) {
        UniqueFd top{::fcntl(own_.directories().top(), F_DUPFD_CLOEXEC, 0)};
        if (!top) {
            break;
        }
        auto helper = std::make_unique<Helper>(TreeMaker{index_, std::move(top)});
        try {
            helper->thread =
                std::jthread{[this, one = helper.get()](const std::stop_token& stop) {
                    help(one->maker, stop);
                }};
        } catch (const std::system_error&) {
            break;
        }
        helpers_.push_back(std::move(helper));
    }
    threads_ = static_cast<unsigned>(helpers_.size()) + 1;
}

void MakerCrew::help(TreeMaker& maker, const std::stop_token& stop) {
    unsigned seen = 0;
    std::unique_lock lock{mutex_};
    while (wakes_.wait(lock, stop, [&] { return turn_ != seen; })) {
        seen = turn_;
        const std::span<const Whole> files = files_;
        lock.unlock();
        take_some(maker, files);
        lock.lock();
        if (--busy_ == 0) {
            rests_.notify_one();
        }
    }
}

void MakerCrew::take_some(TreeMaker& maker, std::span<const Whole> files) {
    for (;;) {
        const std::size_t first = next_.fetch_add(kNeighbours);
        if (first >= files.size()) {
            return;
        }
        const auto some = files.subspan(first, std::min(kNeighbours, files.size() - first));
        for (const Whole& file : some) {
            if (!maker.make(index_.node(file.node), file.bytes)) {
                note({.node = file.node, .cause = errno});
                next_ = files.size();
                return;
            }
        }
    }
}

void MakerCrew::note(Failure failure) {
    const std::lock_guard lock{mutex_};
    if (!failure_ || failure.node < failure_->node) {
        failure_ = failure;
    }
}

std::optional<MakerCrew::Failure> MakerCrew::make(std::span<const Whole> files) {
    const bool is_shared = files.size() >= kWorthHelp && threads_ > 1;
    if (is_shared) {
        enlist();
    }
    next_ = 0;
    if (is_shared) {
        const std::lock_guard lock{mutex_};
        files_ = files;
        busy_ = threads_ - 1;
        ++turn_;
        wakes_.notify_all();
    }
    take_some(own_, files);
    std::unique_lock lock{mutex_};
    rests_.wait(lock, [this] { return busy_ == 0; });
    return std::exchange(failure_, std::nullopt);
}

}  // namespace stage
