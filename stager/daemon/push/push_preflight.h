// Who takes part in a push?
//
// Each node is asked over a link of its own, many at a time. One that can't be reached within
// ConnectTimeout, or falls silent for so long, is out, and so is one that has no room or does
// not allow it: it is named with its reason and nobody waits for it. So the members are known
// before the first of them is told to begin.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace stage {

/// Nodes that are being asked at one time.
inline constexpr std::size_t kAskedAtOnce = 128;

class PushPreflight {
  public:
    struct Place {
        std::string name;
        std::string address;  ///< Numeric.
    };
    /// Of the `index`-th place: what it said, or why it says nothing.
    using OnAnswer = std::function<void(std::size_t index, const Result<ExaminedMessage>&)>;
    using OnDone = std::function<void()>;

    /// `services` outlives it.
    explicit PushPreflight(Services& services) : services_{services} {}
    PushPreflight(const PushPreflight&) = delete;
    PushPreflight& operator=(const PushPreflight&) = delete;
    ~PushPreflight() = default;

    /// `on_answer` for each place, then `on_done`; from the loop. Once.
    void ask(std::vector<Place> places,
             const ExamineMessage& question,
             OnAnswer on_answer,
             OnDone on_done);

  private:
    struct Talk {
        std::unique_ptr<DrivenLink> link;
        std::unique_ptr<Alarm> silence;
    };

    void ask_more();
    void ask_one(std::size_t index);
    void on_change(std::size_t index);
    void finish(std::size_t index, const Result<ExaminedMessage>& answer);

    Services& services_;
    std::vector<Place> places_;
    std::vector<std::byte> question_;
    OnAnswer on_answer_;
    OnDone on_done_;
    std::size_t next_ = 0;
    std::map<std::size_t, Talk> talks_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
