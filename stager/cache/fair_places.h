// Divides a limited number of places among users.
//
// A user can have as many places as are left for others. So one user alone gets half of them,
// the next user half of the rest, and a new user always finds a place, however many the others
// request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace stage {

class FairPlaces {
  public:
    explicit FairPlaces(std::size_t all) : all_{all} {}

    /// Returns false if this user can have no more places.
    [[nodiscard]] bool take(std::uint32_t uid);
    /// Returns a place. Requires that this user has one.
    void leave(std::uint32_t uid);
    /// Keeps the places that are taken: if they are more than `all`, no user gets another one.
    void resize(std::size_t all) { all_ = all; }
    [[nodiscard]] std::size_t taken() const { return taken_; }

  private:
    std::size_t all_;
    std::size_t taken_ = 0;
    std::map<std::uint32_t, std::size_t> of_users_;
};

}  // namespace stage
