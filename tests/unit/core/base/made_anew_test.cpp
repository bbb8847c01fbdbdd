#include "transport/core/base/made_anew.h"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>

using namespace stage::core;

namespace {

/// Two parts, one of which refers to the other, and a counter that is not its own.
class Whole final {
  public:
    Whole(std::unique_ptr<int> size, int& ends) : size_{std::move(size)}, ends_{ends} {}
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;
    ~Whole() { ++ends_; }

    void grow(int size) {
        make_anew(*this, std::make_unique<int>(size), std::ref(ends_));
        was_made_anew_ = true;
    }
    [[nodiscard]] int size() const { return *by_reference_; }
    [[nodiscard]] bool was_made_anew() const { return was_made_anew_; }

  private:
    const std::unique_ptr<int> size_;
    const std::unique_ptr<int>& part_ = size_;
    const int* const by_reference_ = part_.get();
    int& ends_;
    bool was_made_anew_ = false;
};

}  // namespace

TEST_CASE("an object is made anew where it is, with its parts and what these refer to") {
    int ends = 0;
    {
        Whole whole{std::make_unique<int>(1), ends};
        const Whole& seen = whole;
        whole.grow(7);
        CHECK(ends == 1);
        CHECK(seen.size() == 7);
        CHECK(seen.was_made_anew());
    }
    CHECK(ends == 2);
}
