// Detects packet numbers that were seen before.
//
// A sliding window over the last numbers of one sender (RFC 6479). A number older than the
// window counts as seen. Control packets are checked; replayed DATA is harmless and is not.
#pragma once

#include <cstdint>
#include <vector>

namespace stage::seal {

class ReplayWindow {
  public:
    static constexpr std::uint64_t kSize = 1024;

    /// `size`: numbers in the window, a multiple of 64. It takes size / 8 bytes.
    explicit ReplayWindow(std::uint64_t size = kSize) : words_(size / 64) {}

    /// True once for each number that is not too old. Call only for packets that opened.
    [[nodiscard]] bool admit(std::uint64_t number) {
        if (!any_ || number > highest_) {
            forget_up_to(number);
        } else if (highest_ - number >= size() || is_marked(number)) {
            return false;
        }
        mark(number);
        return true;
    }

    /// The largest number admitted, 0 before the first.
    [[nodiscard]] std::uint64_t highest() const { return highest_; }

  private:
    [[nodiscard]] std::uint64_t size() const { return 64 * words_.size(); }
    void forget_up_to(std::uint64_t number) {
        const std::uint64_t fresh = any_ ? number - highest_ : size();
        if (fresh >= size()) {
            words_.assign(words_.size(), 0);
        } else {
            // Counts, because no number follows the largest one.
            for (std::uint64_t count = fresh; count > 0; --count) {
                const std::uint64_t passed = highest_ + count;
                words_[(passed / 64) % words_.size()] &= ~(std::uint64_t{1} << (passed % 64));
            }
        }
        highest_ = number;
        any_ = true;
    }
    [[nodiscard]] bool is_marked(std::uint64_t number) const {
        return ((words_[(number / 64) % words_.size()] >> (number % 64)) & 1U) != 0;
    }
    void mark(std::uint64_t number) {
        words_[(number / 64) % words_.size()] |= std::uint64_t{1} << (number % 64);
    }

    std::vector<std::uint64_t> words_;
    std::uint64_t highest_ = 0;
    bool any_ = false;
};

}  // namespace stage::seal
