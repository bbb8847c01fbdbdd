// Fuzzes the reader of a program's dependencies, which always ends.
#include "stager/files/libraries/elf_needs.h"

#include "tests/fuzz/fuzz.h"

#include <elf.h>

#include <cstring>

namespace stage {
namespace {

template <class Value>
void put(std::vector<std::byte>& bytes, std::size_t at, const Value& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// A library with a name, a path and one that it needs; loaded as it lies in the file.
std::vector<std::byte> small_library() {
    constexpr std::size_t kDynamic = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    constexpr std::size_t kStrings = kDynamic + 6 * sizeof(Elf64_Dyn);
    const std::string strings("\0libc.so.6\0me.so.1\0$ORIGIN/../lib\0", 34);
    std::vector<std::byte> bytes(kStrings + strings.size());
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 2;
    put(bytes, 0, head);
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_filesz = bytes.size();
    put(bytes, sizeof head, load);
    Elf64_Phdr dynamic{};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_offset = kDynamic;
    dynamic.p_filesz = 6 * sizeof(Elf64_Dyn);
    put(bytes, sizeof head + sizeof load, dynamic);
    const auto entry = [&](std::size_t i, std::int64_t tag, std::uint64_t value) {
        Elf64_Dyn one{};
        one.d_tag = tag;
        one.d_un.d_val = value;
        put(bytes, kDynamic + i * sizeof one, one);
    };
    entry(0, DT_STRTAB, kStrings);
    entry(1, DT_STRSZ, strings.size());
    entry(2, DT_NEEDED, 1);
    entry(3, DT_SONAME, 11);
    entry(4, DT_RUNPATH, 19);
    entry(5, DT_NULL, 0);
    std::memcpy(bytes.data() + kStrings, strings.data(), strings.size());
    return bytes;
}

}  // namespace

bool fuzz_one(Bytes input) {
    const ReadAt read = [&](std::uint64_t offset, MutableBytes room) {
        if (offset > input.size() || room.size() > input.size() - offset) {
            return false;
        }
        std::copy_n(
            input.begin() + static_cast<std::ptrdiff_t>(offset), room.size(), room.begin());
        return true;
    };
    const Result<ElfNeeds> needs = read_elf(read);
    if (!needs) {
        return false;
    }
    invariant(needs->needed.size() <= kMaxElfNeeds, "what is needed is bounded");
    for (const std::string& name : needs->needed) {
        invariant(name.size() <= kMaxElfTextBytes + 64 && name.find('\0') == std::string::npos,
                  "a name is one");
    }
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"small_library", small_library()}};
}

}  // namespace stage
