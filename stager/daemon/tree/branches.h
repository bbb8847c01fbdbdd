// Tracks which daemons are connected below this one in the control tree.
//
// There is one entry per child, and per child of a failed child (re-parenting). Connecting is
// retried until connect_max; a child that was connected and falls silent is lost. The class
// does no I/O: it says which ranks to connect to and which are lost, and the owner of the links
// acts.
#pragma once

#include "stager/daemon/tree/tree.h"
#include "transport/base/units.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct BranchTimes {
    Duration connect_max =
        std::chrono::seconds{5};  ///< From the first attempt until the child is given up.
    Duration retry_after = std::chrono::milliseconds{250};
    Duration silence_max = std::chrono::seconds{60};  ///< A connected link's longest silence.
};

/// A node below this one that does not take part.
struct LostBranch {
    Rank rank;
    bool was_up = false;
    std::string why;  ///< The error of the last attempt; may be empty.
};

class Branches {
  public:
    Branches(Tree tree, Rank self, BranchTimes times);

    /// Begins to connect to the children.
    void start(Instant now);

    /// `rank` is connected. False if no connection was asked for: close it.
    [[nodiscard]] bool on_up(Instant now, Rank rank);
    /// The link broke, or the attempt to connect failed. `may_redial`: a connected child is
    /// connected once more, in one attempt, and lost only if that fails; not a second time.
    void on_down(Instant now, Rank rank, std::string why, bool may_redial = false);
    void on_heard(Instant now, Rank rank);
    /// `rank` and all nodes below it have what they need: losing it now changes nothing.
    void on_settled(Rank rank);
    void on_time(Instant now);
    /// From now on a connected link may be silent for no longer than `silence`.
    void hurry(Instant now, Duration silence);
    /// Limits the silence of the link to `rank` alone, until `rank` is heard.
    void hurry(Instant now, Rank rank, Duration silence);
    /// This daemon did not run for `pause`, so that no branch is to blame for that time.
    void excuse(Duration pause);
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// The ranks to connect to, each once per attempt.
    [[nodiscard]] std::vector<Rank> take_connects();
    /// The branches lost since the last call; re-parenting of their children has begun.
    [[nodiscard]] std::vector<LostBranch> take_lost();

    [[nodiscard]] bool is_up(Rank rank) const;
    /// The ranks whose parent this node is now: all that are not lost.
    [[nodiscard]] std::vector<Rank> kept() const;
    /// The ranks that are connected and not settled.
    [[nodiscard]] std::vector<Rank> listeners() const;
    /// No branch is connecting, and none is connected and unsettled.
    [[nodiscard]] bool all_settled() const;

  private:
    enum class State : unsigned char { connecting, waiting, up, settled, lost };
    struct Branch {
        Rank rank;
        State state;
        Instant give_up_at;  ///< Connecting and waiting: of connect_max. Up: of silence_max.
        Instant retry_at;    ///< Waiting only.
        std::string why;
        bool was_redialled = false;
    };

    void adopt(Instant now, Rank rank);
    void lose(Instant now, Rank rank);
    [[nodiscard]] Branch* find(Rank rank);

    Tree tree_;
    Rank self_;
    BranchTimes times_;
    std::vector<Branch> branches_;
    std::vector<Rank> connects_;
    std::vector<LostBranch> lost_;
};

}  // namespace stage
