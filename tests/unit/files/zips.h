// Makes zips as no zip(1) makes them, by hand (APPNOTE.TXT 4.3).
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace stage::test {

class Zip {
  public:
    struct Kind {
        unsigned flags = 0;               ///< 0x800: the name is UTF-8; 1: encrypted.
        unsigned made_by = 3;             ///< 3: Unix, 0: DOS.
        unsigned attributes = 0;          ///< DOS attributes.
        unsigned mode = 0100644;          ///< The Unix mode.
        std::string extra{};              ///< In both places.
        std::string name_in_directory{};  ///< Empty: the same.
        unsigned method = 0;              ///< 14: LZMA, 95: xz.
        std::string packed{};             ///< The content by that method; empty: as it is.
    };

    Zip& file(const std::string& name, const std::string& content, const Kind& kind) {
        const auto crc =
            static_cast<std::uint32_t>(::crc32(0,
                                               reinterpret_cast<const Bytef*>(content.data()),
                                               static_cast<uInt>(content.size())));
        const std::size_t at = bytes_.size();
        const std::string& packed = kind.packed.empty() ? content : kind.packed;
        const std::string common = number(kind.flags, 2) + number(kind.method, 2) +
                                   number(0, 2) + number(0x5821, 2) + number(crc, 4) +
                                   number(packed.size(), 4) + number(content.size(), 4);
        bytes_ += "PK\x03\x04" + number(20, 2) + common + number(name.size(), 2) +
                  number(kind.extra.size(), 2) + name + kind.extra + packed;
        const std::string& there =
            kind.name_in_directory.empty() ? name : kind.name_in_directory;
        directory_ += "PK\x01\x02" + number(20 | (kind.made_by << 8U), 2) + number(20, 2) +
                      common + number(there.size(), 2) + number(kind.extra.size(), 2) +
                      number(0, 2) + number(0, 2) + number(0, 2) +
                      number((kind.mode << 16U) | kind.attributes, 4) + number(at, 4) + there +
                      kind.extra;
        ++count_;
        return *this;
    }
    Zip& file(const std::string& name, const std::string& content) {
        return file(name, content, Kind{});
    }

    [[nodiscard]] std::string bytes(const std::string& comment = "") const {
        return bytes_ + directory_ + "PK\x05\x06" + number(0, 4) + number(count_, 2) +
               number(count_, 2) + number(directory_.size(), 4) + number(bytes_.size(), 4) +
               number(comment.size(), 2) + comment;
    }

    static std::string number(std::uint64_t value, int count) {
        std::string text;
        for (int i = 0; i < count; ++i) {
            text += static_cast<char>((value >> (8 * i)) & 0xffU);
        }
        return text;
    }

  private:
    std::string bytes_;
    std::string directory_;
    std::size_t count_ = 0;
};

}  // namespace stage::test
