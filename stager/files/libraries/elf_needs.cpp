#include "stager/files/libraries/elf_needs.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kLeaveOut = "name the program itself, or leave out libs";

Error refused(std::string_view why) {
    return Error{Blame::user, std::string{why}}.remedy(kLeaveOut);
}

Error damaged() {
    return refused("is a damaged program");
}

template <class Value>
bool read_as(const ReadAt& read, std::uint64_t offset, Value& value) {
    return read(offset, std::as_writable_bytes(std::span{&value, 1}));
}

/// Checks that the file is a 64-bit ELF file of this kind.
Status check_head(const Elf64_Ehdr& head) {
    const auto* const ident =
        reinterpret_cast<const char*>(static_cast<const unsigned char*>(head.e_ident));
    if (std::string_view{ident, 2} == "#!") {
        return refused("is a script: libs needs a program");
    }
    if (std::string_view{ident, SELFMAG} != std::string_view{ELFMAG, SELFMAG}) {
        return refused("is not a program");
    }
    if (head.e_ident[EI_CLASS] == ELFCLASS32) {
        return refused("is a 32-bit program, but libs supports only 64-bit ones");
    }
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB) {
        return refused("is a program of an unknown kind");
    }
    const bool is_whole = (head.e_type == ET_EXEC || head.e_type == ET_DYN) &&
                          head.e_phentsize == sizeof(Elf64_Phdr) &&
                          head.e_phnum <= kMaxElfSegments;
    return is_whole ? Status{} : Status{damaged()};
}

class ElfFile {
  public:
    explicit ElfFile(const ReadAt& read) : read_{read} {}

    Result<ElfNeeds> needs() {
        Elf64_Ehdr head{};
        // The first bytes show a script that is shorter than an ELF header.
        if (!read_(0, std::as_writable_bytes(std::span{&head, 1}).first(4))) {
            return refused("is not a program");
        }
        if (head.e_ident[0] == '\x7f' && !read_as(read_, 0, head)) {
            return damaged();
        }
        TRY(check_head(head));
        segments_.resize(head.e_phnum);
        if (!read_(head.e_phoff, std::as_writable_bytes(std::span{segments_}))) {
            return damaged();
        }
        needs_.machine = head.e_machine;
        if (!take_interpreter() || !take_dynamic()) {
            return damaged();
        }
        return std::move(needs_);
    }

  private:
    [[nodiscard]] const Elf64_Phdr* segment(std::uint32_t type) const {
        const auto found = std::ranges::find(segments_, type, &Elf64_Phdr::p_type);
        return found == segments_.end() ? nullptr : &*found;
    }

    /// The offset in the file of a loaded address.
    [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& one : segments_) {
            if (one.p_type == PT_LOAD && address >= one.p_vaddr &&
                address - one.p_vaddr < one.p_filesz) {
                return one.p_offset + (address - one.p_vaddr);
            }
        }
        return std::nullopt;
    }

    /// Reads a string up to its zero byte; its length is limited.
    [[nodiscard]] std::optional<std::string> text_at(std::uint64_t offset,
                                                     std::uint64_t end) const {
        std::string text;
        std::array<char, 64> room{};
        while (offset < end && text.size() < kMaxElfTextBytes) {
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), end - offset));
            if (!read_(offset, std::as_writable_bytes(std::span{room}.first(count)))) {
                return std::nullopt;
            }
            const std::string_view part{room.data(), count};
            const std::size_t zero = part.find('\0');
            text += part.substr(0, zero);
            if (zero != std::string_view::npos) {
                return text;
            }
            offset += count;
        }
        return std::nullopt;
    }

    bool take_interpreter() {
        const Elf64_Phdr* const where = segment(PT_INTERP);
        if (where == nullptr) {
            return true;
        }
        const auto text = text_at(where->p_offset, where->p_offset + where->p_filesz);
        needs_.interpreter = text.value_or("");
        return text.has_value();
    }

    bool take_dynamic() {
        const Elf64_Phdr* const where = segment(PT_DYNAMIC);
        if (where == nullptr) {
            return true;
        }
        const std::uint64_t count = where->p_filesz / sizeof(Elf64_Dyn);
        if (count > kMaxElfEntries) {
            return false;
        }
        std::vector<Elf64_Dyn> entries(count);
        if (!read_(where->p_offset, std::as_writable_bytes(std::span{entries}))) {
            return false;
        }
        entries.erase(std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag), entries.end());
        const auto strings = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
        const auto size = std::ranges::find(entries, DT_STRSZ, &Elf64_Dyn::d_tag);
        const bool has_strings = strings != entries.end() && size != entries.end();
        const auto begin = has_strings ? offset_of(strings->d_un.d_ptr) : std::nullopt;
        const std::uint64_t length = has_strings ? size->d_un.d_val : 0;
        return std::ranges::all_of(
            entries, [&](const Elf64_Dyn& one) { return take(one, begin, length); });
    }

    bool take(const Elf64_Dyn& one, std::optional<std::uint64_t> begin, std::uint64_t length) {
        std::string* const place = place_for(one.d_tag);
        std::vector<std::string>* const names = names_for(one.d_tag);
        if (place == nullptr && names == nullptr) {
            return true;
        }
        if (!begin || one.d_un.d_val >= length || *begin > UINT64_MAX - length) {
            return false;
        }
        auto text = text_at(*begin + one.d_un.d_val, *begin + length);
        if (!text) {
            return false;
        }
        if (place != nullptr) {
            *place = *std::move(text);
            return true;
        }
        return is_list(one.d_tag) ? add_list(*text, *names) : add(*std::move(text), *names);
    }

    static bool add(std::string name, std::vector<std::string>& names) {
        if (names.size() == kMaxElfNeeds) {
            return false;
        }
        names.push_back(std::move(name));
        return true;
    }

    static bool add_list(std::string_view list, std::vector<std::string>& names) {
        bool is_whole = true;
        while (is_whole && !list.empty()) {
            const std::size_t end = std::min(list.find(':'), list.size());
            is_whole = end == 0 || add(std::string{list.substr(0, end)}, names);
            list.remove_prefix(std::min(end + 1, list.size()));
        }
        return is_whole;
    }

    static bool is_list(std::int64_t tag) { return tag == DT_AUDIT || tag == DT_DEPAUDIT; }

    std::vector<std::string>* names_for(std::int64_t tag) {
        switch (tag) {
            case DT_NEEDED:
            case DT_FILTER:
                return &needs_.needed;
            case DT_AUXILIARY:
                return &needs_.wanted;
            case DT_AUDIT:
            case DT_DEPAUDIT:  // The loader asks programs only.
                return needs_.interpreter.empty() ? nullptr : &needs_.wanted;
            default:
                return nullptr;
        }
    }

    std::string* place_for(std::int64_t tag) {
        switch (tag) {
            case DT_SONAME:
                return &needs_.name;
            case DT_RPATH:
                return &needs_.rpath;
            case DT_RUNPATH:
                return &needs_.runpath;
            default:
                return nullptr;
        }
    }

    const ReadAt& read_;
    std::vector<Elf64_Phdr> segments_;
    ElfNeeds needs_;
};

}  // namespace

Result<ElfNeeds> read_elf(const ReadAt& read) {
    return ElfFile{read}.needs();
}

}  // namespace stage
