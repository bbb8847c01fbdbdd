// Makes tars, also hostile ones.
//
// Headers of 512 bytes by hand (POSIX ustar), so that a test can say things that no tar(1)
// says.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace stage::test {

class Tar {
  public:
    Tar& file(const std::string& name, const std::string& content, unsigned mode = 0644) {
        add(name, '0', mode, content.size(), "");
        bytes_ += content;
        return pad();
    }
    Tar& directory(const std::string& name, unsigned mode = 0755) {
        return add(name, '5', mode, 0, "");
    }
    Tar& symlink(const std::string& name, const std::string& to) {
        return add(name, '2', 0777, 0, to);
    }
    Tar& hard_link(const std::string& name, const std::string& to) {
        return add(name, '1', 0644, 0, to);
    }
    /// '3' and '4': devices, '6': a pipe.
    Tar& other(const std::string& name, char type) { return add(name, type, 0644, 0, ""); }

    /// Pax records ("27 mtime=-99.25\n") of the next member.
    Tar& pax(const std::string& records) {
        add("pax", 'x', 0644, records.size(), "");
        bytes_ += records;
        return pad();
    }

    [[nodiscard]] std::string unfinished() const { return bytes_; }
    [[nodiscard]] std::string bytes() const { return bytes_ + std::string(1024, '\0'); }

  private:
    Tar& add(const std::string& name,
             char type,
             unsigned mode,
             std::size_t size,
             const std::string& link) {
        std::string head(512, '\0');
        const auto put = [&](std::size_t at, const std::string& text) {
            head.replace(at, text.size(), text);
        };
        const auto octal = [&](std::size_t at, unsigned long value, int digits) {
            std::array<char, 24> text{};
            static_cast<void>(std::snprintf(text.data(), text.size(), "%0*lo", digits, value));
            put(at, text.data());
        };
        put(0, name.substr(0, 100));
        octal(100, mode, 7);
        octal(108, 0, 7);
        octal(116, 0, 7);
        octal(124, size, 11);
        octal(136, 1234567890, 11);
        put(148, "        ");
        head[156] = type;
        put(157, link.substr(0, 100));
        put(257,
            std::string("ustar\0"
                        "00",
                        8));
        unsigned long sum = 0;
        for (const char one : head) {
            sum += static_cast<unsigned char>(one);
        }
        octal(148, sum, 6);
        head[154] = '\0';
        bytes_ += head;
        return *this;
    }
    Tar& pad() {
        bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
        return *this;
    }

    std::string bytes_;
};

}  // namespace stage::test
