// Finds out which nodes can take part in a push.
//
// Each node is asked over a link of its own, many at a time. A node that can't be reached
// within ConnectTimeout, falls silent for as long, has no space or does not allow the push is
// left out: it is named with its reason and no other node waits for it. So the members are
// known before the push sends anything.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/daemon/tree/tree_message.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace stage {

/// Nodes that are asked at one time.
inline constexpr std::size_t kAskedAtOnce = 128;

class PushPreflight {
  public:
    struct Place {
        std::string name;
        std::string address;  ///< Numeric.
    };
    /// The answer of the `index`-th place, or why there is none.
    using OnAnswer = std::function<void(std::size_t index, const Result<ExaminedMessage>&)>;
    using OnDone = std::function<void()>;

    /// Both arguments outlive the object.
    PushPreflight(const Basics& basics, LinkDialer& dialer)
        : basics_{basics}, dialer_{dialer} {}
    PushPreflight(const PushPreflight&) = delete;
    PushPreflight& operator=(const PushPreflight&) = delete;
    ~PushPreflight() = default;

    /// The loop calls `on_answer` for each place, then `on_done`. To be called once.
    void ask(std::vector<Place> places,
             const ExamineMessage& question,
             OnAnswer on_answer,
             OnDone on_done);

  private:
    struct OpenQuestion {
        std::unique_ptr<DrivenLink> link;
        std::unique_ptr<Alarm> silence;
    };

    void ask_more();
    void ask_one(std::size_t index);
    void on_change(std::size_t index);
    void finish(std::size_t index, const Result<ExaminedMessage>& answer);

    const Basics& basics_;
    LinkDialer& dialer_;
    std::vector<Place> places_;
    std::vector<std::byte> question_;
    OnAnswer on_answer_;
    OnDone on_done_;
    std::size_t next_ = 0;
    std::map<std::size_t, OpenQuestion> open_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
