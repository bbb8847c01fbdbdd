// Keeps what becomes of the nodes to which a push copies, round by round.
//
// It is the same by daemons and by a launcher. Nodes that pass the preflight check are fit and
// take part in the first round. A round that fails leaves out the nodes to blame, and the
// others begin another one.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stage {

/// After this number of failed rounds a push is given up.
inline constexpr unsigned kMaxPushRounds = 8;

struct PushTarget {
    enum class State : unsigned char { waiting, fit, done, failed };

    std::string name;
    State state = State::waiting;
    std::string why{};  ///< Why it failed.
    /// Bytes and digest of the files that it has already, if these may be the source's.
    std::pair<std::uint64_t, std::string> present{};
    bool differs = false;       ///< The comparison found other content.
    bool is_unchanged = false;  ///< It is done, and was before: nothing was sent to it.

    void fail(std::string reason) {
        state = State::failed;
        why = std::move(reason);
    }
};

/// `Target` is a PushTarget with what its push knows of it besides.
template <class Target>
class PushTargets : public std::vector<Target> {
  public:
    using State = PushTarget::State;

    /// The round in progress; the first one is 1.
    [[nodiscard]] unsigned round() const { return round_; }
    void begin_round() { ++round_; }
    [[nodiscard]] std::size_t count(State state) const {
        return static_cast<std::size_t>(std::ranges::count(*this, state, &Target::state));
    }
    /// Null if the push is not for that node.
    [[nodiscard]] Target* called(const std::string& name) {
        const auto found = std::ranges::find(*this, name, &Target::name);
        return found == this->end() ? nullptr : &*found;
    }
    /// Some fit nodes may have the source's files already.
    [[nodiscard]] bool have_present() const {
        return std::ranges::any_of(*this, [](const Target& target) {
            return target.state == State::fit && !target.present.second.empty();
        });
    }
    /// Nodes that have the content with this digest already are done.
    void finish_present(std::uint64_t bytes, const std::string& digest) {
        for (Target& target : *this) {
            if (target.state == State::fit && !digest.empty() &&
                target.present == std::pair{bytes, digest}) {
                target.state = State::done;
                target.is_unchanged = true;
            }
        }
    }
    [[nodiscard]] bool may_begin_round() const {
        return round_ < kMaxPushRounds && count(State::fit) > 0;
    }
    /// Leaves `target` out of later rounds. False if it is null, or not in this one.
    static bool leave_out(Target* target, std::string why) {
        const bool is_fit = target != nullptr && target->state == State::fit;
        if (is_fit) {
            target->fail(std::move(why));
        }
        return is_fit;
    }
    /// The round has succeeded.
    void finish_fit() {
        for (Target& target : *this) {
            target.state = target.state == State::fit ? State::done : target.state;
        }
    }
    /// No further round: what is not done fails.
    void fail_rest(const std::string& why) {
        for (Target& target : *this) {
            if (target.state == State::fit || target.state == State::waiting) {
                target.fail(why);
            }
        }
    }
    /// What `stagecast push --json` prints, without the phase.
    [[nodiscard]] nlohmann::json report(std::uint64_t bytes,
                                        double seconds,
                                        const std::string& why) const {
        auto failed = nlohmann::json::array();
        for (const Target& target : *this) {
            if (target.state == State::failed) {
                failed.push_back(
                    {{"node", target.name}, {"why", target.why}, {"differs", target.differs}});
            }
        }
        return {{"nodes", this->size()},
                {"done", count(State::done)},
                {"unchanged", std::ranges::count(*this, true, &Target::is_unchanged)},
                {"bytes", bytes},
                {"rounds", round_},
                {"seconds", seconds},
                {"why", why},
                {"failed", std::move(failed)}};
    }

  private:
    unsigned round_ = 0;
};

}  // namespace stage
