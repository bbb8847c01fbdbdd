// Of a bounded number of places, how many may one user have?
//
// As many as are left for others. So one user alone has half of them, the next one half of the
// rest, and whoever comes next finds room, however many the others would like to have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace stage {

class FairPlaces {
  public:
    explicit FairPlaces(std::size_t all) : all_{all} {}

    /// False: this user has none more.
    [[nodiscard]] bool take(std::uint32_t uid);
    /// Requires that this user has one.
    void leave(std::uint32_t uid);
    /// Takes no place away: where there are fewer than are taken, nobody has one more.
    void resize(std::size_t all) { all_ = all; }
    [[nodiscard]] std::size_t taken() const { return taken_; }

  private:
    std::size_t all_;
    std::size_t taken_ = 0;
    std::map<std::uint32_t, std::size_t> of_users_;
};

}  // namespace stage
