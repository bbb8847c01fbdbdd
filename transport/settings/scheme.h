// The scheme of a broadcast: by multicast to all members at once, or by a relay from one member
// to the next.
#pragma once

#include "transport/base/invariant.h"

#include <cstdint>
#include <optional>
#include <variant>

namespace stage {

/// How the members of a relay are arranged (core/relay/relay_tree.h): in one tree, of which a
/// chain is the narrowest, or in two binary trees that carry half of the blocks each.
class Relay {
  public:
    constexpr Relay() = default;  ///< A chain.
    [[nodiscard]] static Relay tree(std::uint32_t degree) {
        invariant(degree >= 1 && degree < kTwoTrees, "a tree has a degree");
        return Relay{static_cast<std::uint8_t>(degree)};
    }
    [[nodiscard]] static constexpr Relay two_trees() { return Relay{kTwoTrees}; }
    /// The form in messages: the degree, or 255 for two trees. Empty for 0.
    [[nodiscard]] static constexpr std::optional<Relay> of_number(std::uint8_t number) {
        return number == 0 ? std::nullopt : std::optional{Relay{number}};
    }
    [[nodiscard]] constexpr std::uint8_t number() const { return number_; }

    [[nodiscard]] constexpr bool has_two_trees() const { return number_ == kTwoTrees; }
    [[nodiscard]] constexpr bool is_chain() const { return number_ == 1; }
    /// The most children that a member has in one tree.
    [[nodiscard]] constexpr std::uint32_t degree() const {
        return has_two_trees() ? 2 : number_;
    }
    /// The number of trees: block b belongs to the stripe b mod this.
    [[nodiscard]] constexpr std::uint32_t stripes() const { return has_two_trees() ? 2 : 1; }

    friend constexpr bool operator==(const Relay&, const Relay&) = default;

  private:
    static constexpr std::uint8_t kTwoTrees = 255;

    explicit constexpr Relay(std::uint8_t number) : number_{number} {}

    std::uint8_t number_ = 1;
};

struct Multicast {
    friend constexpr bool operator==(const Multicast&, const Multicast&) = default;
};

using Scheme = std::variant<Multicast, Relay>;

/// The relay of a scheme; null: it is multicast.
[[nodiscard]] constexpr const Relay* relay_of(const Scheme& scheme) {
    return std::get_if<Relay>(&scheme);
}

}  // namespace stage
