// The result of an operation that can fail for an external reason: a value or an error.
//
// An error says what went wrong, which party can remedy it, and a message for people, which
// callers extend (.within("staging job 42")). The blame decides what Slurm learns: only
// Blame::node may ever drain a node, and only where the site asks for it.
#pragma once

#include "transport/base/invariant.h"

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace stage {

/// The party that can remedy the failure. Sent by number: append only.
enum class Blame : unsigned char {
    user = 0,      ///< A path, a permission, a quota: the job's owner.
    node = 1,      ///< A disk, a network, a daemon: the site.
    internal = 2,  ///< stagecast itself.
};

[[nodiscard]] std::string_view to_string(Blame blame);

/// A message in at most `bytes_max` (8 or more) bytes. If it is longer, its middle becomes
/// "...", because a path comes first and the remedy last. No UTF-8 character is cut.
[[nodiscard]] std::string shortened(std::string_view sentence, std::size_t bytes_max);

class [[nodiscard]] Error {
  public:
    Error(Blame blame, std::string sentence, int cause = 0)
        : blame_{blame}, cause_{cause}, sentence_{std::move(sentence)} {}

    /// "`doing`: No such file or directory" from errno as it stands now, or from `cause`.
    static Error from_errno(Blame blame, std::string_view doing, int cause = errno);

    /// The failure as seen from one level up: "`where`: <sentence>".
    [[nodiscard]] Error within(std::string_view where) const&;
    [[nodiscard]] Error within(std::string_view where) &&;
    /// The failure with what the reader can do about it: "<sentence>; `advice`".
    [[nodiscard]] Error remedy(std::string_view advice) &&;

    [[nodiscard]] Blame blame() const { return blame_; }
    /// The errno value behind it, or 0.
    [[nodiscard]] int cause() const { return cause_; }
    [[nodiscard]] const std::string& sentence() const { return sentence_; }

  private:
    Blame blame_;
    int cause_;
    std::string sentence_;
};

/// A T, or why there is none. A subset of std::expected, which g++ 12 has not in C++20.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_{std::in_place_index<0>, std::move(value)} {}
    Result(Error error) : state_{std::in_place_index<1>, std::move(error)} {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    [[nodiscard]] T& operator*() & { return value(); }
    [[nodiscard]] const T& operator*() const& { return value(); }
    [[nodiscard]] T&& operator*() && { return std::move(value()); }
    [[nodiscard]] T* operator->() { return &value(); }
    [[nodiscard]] const T* operator->() const { return &value(); }

    [[nodiscard]] const Error& error() const& {
        invariant(state_.index() == 1, "an error is asked for only where there is one");
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] Error&& error() && {
        invariant(state_.index() == 1, "an error is asked for only where there is one");
        return std::move(*std::get_if<1>(&state_));
    }

  private:
    [[nodiscard]] T& value() {
        invariant(ok(), "a value is asked for only where there is one");
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] const T& value() const {
        invariant(ok(), "a value is asked for only where there is one");
        return *std::get_if<0>(&state_);
    }

    std::variant<T, Error> state_;
};

/// Done, or why not.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Error error) : error_{std::move(error)} {}

    [[nodiscard]] bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }

    [[nodiscard]] const Error& error() const& {
        invariant(!ok(), "an error is asked for only where there is one");
        return *error_;
    }
    [[nodiscard]] Error&& error() && {
        invariant(!ok(), "an error is asked for only where there is one");
        return std::move(*error_);
    }

  private:
    std::optional<Error> error_;
};

}  // namespace stage

/// Leaves the function with the error of a Status or a Result, if it has one:
///     TRY(check(path));
///     TRY(auto file, open_file(path));   // `file` is the value, not the Result
/// An expression with a comma outside of parentheses needs parentheses of its own in the first
/// form. The second form stands in a block, because it is more than one statement.
#define TRY(first, ...) \
    STAGE_TRY##__VA_OPT__(_VALUE)(STAGE_TRY_NAME(__LINE__), first __VA_OPT__(, ) __VA_ARGS__)
#define STAGE_TRY(result, ...)              \
    if (auto result = __VA_ARGS__; !result) \
    return std::move(result).error()
#define STAGE_TRY_VALUE(result, declaration, ...) \
    auto result = __VA_ARGS__;                    \
    if (!result) {                                \
        return std::move(result).error();         \
    }                                             \
    declaration = *std::move(result)
#define STAGE_TRY_NAME(line) STAGE_TRY_JOIN(stage_try_, line)
#define STAGE_TRY_JOIN(first, second) first##second
