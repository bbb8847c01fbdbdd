// Describes the fields of a message once, for its writer and its reader.
//
// A private protocol has a function for each message type, in the order of the bytes:
//
//     void fields(auto& on, Like<WorkerKeep> auto& keep) {
//         on.raw(keep.stamp).raw(keep.sum).number(keep.bytes);
//     }
//
// `on` is a FieldWriter or a FieldReader. A message is a variant of such types; put_message()
// and take_message() add the number of its type. Packets have formats of their own
// (transport/wire/body.h).
#pragma once

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/base/result.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace stage {

template <class Type, class Message>
concept Like = std::same_as<std::remove_const_t<Type>, Message>;

template <class Enum>
concept ByteEnum =
    std::is_enum_v<Enum> && std::same_as<std::underlying_type_t<Enum>, std::uint8_t>;

class FieldWriter {
  public:
    explicit FieldWriter(ByteWriter& out) : out_{out} {}

    template <std::unsigned_integral Unsigned>
    FieldWriter& number(Unsigned value) {
        out_.number(value);
        return *this;
    }
    FieldWriter& number(Rank rank) { return number(rank.value()); }
    /// Takes an int of the system: 32 bits, two's complement.
    FieldWriter& signed_number(int value) { return number(static_cast<std::uint32_t>(value)); }
    FieldWriter& flag(bool value) { return number(std::uint8_t{value}); }
    /// An enumerator; `last` has the highest number.
    template <ByteEnum Enum>
    FieldWriter& choice(Enum value, Enum /*last*/) {
        return number(static_cast<std::uint8_t>(value));
    }
    /// A text that is used as a C string, without NUL, and that its sender has checked.
    FieldWriter& text(std::string_view text, std::size_t limit) {
        invariant(text.size() <= limit, "a text fits its field");
        return any_text(text, limit);
    }
    /// A text that a person reads: truncated to its limit.
    FieldWriter& cut(std::string_view text, std::size_t limit) {
        return any_text(shortened(text.substr(0, text.find('\0')), limit), limit);
    }
    /// A text of any bytes. A receiver refuses a longer one.
    FieldWriter& any_text(std::string_view text, std::size_t /*limit*/) {
        out_.text(text);
        return *this;
    }
    FieldWriter& any_cut(std::string_view text, std::size_t limit) {
        return any_text(shortened(text, limit), limit);
    }
    FieldWriter& blob(Bytes bytes, std::size_t /*limit*/) {
        out_.blob(bytes);
        return *this;
    }
    FieldWriter& raw(Bytes bytes) {
        out_.raw(bytes);
        return *this;
    }
    FieldWriter& time(std::chrono::milliseconds time) {
        return number(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count())));
    }
    /// A number of elements, then each one by `each(on, element)`.
    template <std::unsigned_integral Count = std::uint32_t, class Element, class Each>
    FieldWriter& list(const std::vector<Element>& all, std::size_t /*count_max*/, Each each) {
        invariant(std::in_range<Count>(all.size()), "a list's length fits its field");
        number(static_cast<Count>(all.size()));
        for (const Element& one : all) {
            each(*this, one);
        }
        return *this;
    }
    FieldWriter& texts(const std::vector<std::string>& all,
                       std::size_t most,
                       std::size_t limit) {
        return list(all, most, [limit](auto& on, auto& one) { on.text(one, limit); });
    }
    /// A field with a writer and a reader of its own.
    template <class Value, class Put, class Take>
    FieldWriter& with(const Value& value, Put put, Take /*take*/) {
        put(out_, value);
        return *this;
    }
    /// What a reader requires of the fields before.
    FieldWriter& require(bool /*is_sound*/) { return *this; }

  private:
    ByteWriter& out_;
};

/// Reads what FieldWriter wrote, field by field. It is untrusted: ask ByteReader::finished().
class FieldReader {
  public:
    explicit FieldReader(ByteReader& in) : in_{in} {}

    template <std::unsigned_integral Unsigned>
    FieldReader& number(Unsigned& value) {
        std::uint64_t wide = 0;
        for (const std::byte byte : in_.raw(sizeof(Unsigned))) {
            wide = (wide << 8U) | std::to_integer<std::uint64_t>(byte);
        }
        value = static_cast<Unsigned>(wide);
        return *this;
    }
    FieldReader& number(Rank& rank) {
        rank = Rank{in_.u16()};
        return *this;
    }
    FieldReader& signed_number(int& value) {
        value = static_cast<int>(in_.u32());
        return *this;
    }
    FieldReader& flag(bool& value) {
        const std::uint8_t number = in_.u8();
        value = number != 0;
        return require(number <= 1);
    }
    template <ByteEnum Enum>
    FieldReader& choice(Enum& value, Enum last) {
        const std::uint8_t number = in_.u8();
        require(number <= static_cast<std::uint8_t>(last));
        value = in_.ok() ? static_cast<Enum>(number) : last;
        return *this;
    }
    FieldReader& text(std::string& text, std::size_t limit) {
        any_text(text, limit);
        return require(text.find('\0') == std::string::npos);
    }
    FieldReader& cut(std::string& text, std::size_t limit) { return this->text(text, limit); }
    FieldReader& any_text(std::string& text, std::size_t limit) {
        text = in_.text(limit);
        return *this;
    }
    FieldReader& any_cut(std::string& text, std::size_t limit) { return any_text(text, limit); }
    FieldReader& blob(std::vector<std::byte>& into, std::size_t limit) {
        const Bytes bytes = in_.blob(limit);
        into.assign(bytes.begin(), bytes.end());
        return *this;
    }
    template <std::size_t Size>
    FieldReader& raw(std::array<std::byte, Size>& into) {
        std::ranges::copy(in_.raw(Size), into.begin());
        return *this;
    }
    FieldReader& time(std::chrono::milliseconds& time) {
        constexpr std::uint64_t kYear = 366ULL * 86400U * 1000U;
        time = std::chrono::milliseconds{static_cast<std::int64_t>(std::min(in_.u64(), kYear))};
        return *this;
    }
    /// The count is trusted only as far as there are bytes for it.
    template <std::unsigned_integral Count = std::uint32_t, class Element, class Each>
    FieldReader& list(std::vector<Element>& all, std::size_t count_max, Each each) {
        Count count{};
        number(count);
        require(count <= count_max && count <= in_.left());
        for (std::size_t i = 0; i < count && in_.ok(); ++i) {
            each(*this, all.emplace_back());
        }
        return *this;
    }
    FieldReader& texts(std::vector<std::string>& all, std::size_t most, std::size_t limit) {
        return list(all, most, [limit](auto& on, auto& one) { on.text(one, limit); });
    }
    template <class Value, class Put, class Take>
    FieldReader& with(Value& value, Put /*put*/, Take take) {
        value = take(in_);
        return *this;
    }
    FieldReader& require(bool is_sound) {
        if (!is_sound) {
            in_.fail();
        }
        return *this;
    }

  private:
    ByteReader& in_;
};

/// The numbers of a variant's types, in its order.
template <class Message>
using TypeNumbers = std::array<std::uint8_t, std::variant_size_v<Message>>;

template <class Message>
void put_message(ByteWriter& out, const TypeNumbers<Message>& numbers, const Message& message) {
    out.u8(numbers.at(message.index()));
    FieldWriter on{out};
    std::visit([&on](const auto& one) { fields(on, one); }, message);
}

/// Empty, and a failed reader, if the type is unknown. The caller asks ByteReader::finished().
template <class Message>
std::optional<Message> take_message(ByteReader& in, const TypeNumbers<Message>& numbers) {
    std::optional<Message> message;
    const std::uint8_t number = in.u8();
    const auto take_if = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
        if (in.ok() && !message && numbers[Index] == number) {
            FieldReader on{in};
            fields(on, message.emplace().template emplace<Index>());
        }
    };
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
        (take_if(std::integral_constant<std::size_t, Index>{}), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Message>>{});
    if (!message) {
        in.fail();
    }
    return message;
}

/// A version, then the message.
template <class Message>
std::vector<std::byte> encoded(std::uint8_t version,
                               const TypeNumbers<Message>& numbers,
                               const Message& message) {
    ByteWriter out;
    put_message(out.u8(version), numbers, message);
    return out.take();
}

/// Empty unless `bytes` are exactly one message of that version.
template <class Message>
std::optional<Message> decoded(std::uint8_t version,
                               const TypeNumbers<Message>& numbers,
                               Bytes bytes) {
    ByteReader in{bytes};
    auto message = in.u8() == version ? take_message<Message>(in, numbers) : std::nullopt;
    return in.finished() ? std::move(message) : std::nullopt;
}

/// Fields alone, without a version.
template <class Fields>
std::vector<std::byte> encoded(const Fields& all) {
    ByteWriter out;
    FieldWriter on{out};
    fields(on, all);
    return out.take();
}

template <class Fields>
std::optional<Fields> decoded(Bytes bytes) {
    ByteReader in{bytes};
    FieldReader on{in};
    std::optional<Fields> all{std::in_place};
    fields(on, *all);
    return in.finished() ? std::move(all) : std::nullopt;
}

}  // namespace stage
