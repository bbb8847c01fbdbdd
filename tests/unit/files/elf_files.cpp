#include "tests/unit/files/elf_files.h"

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace stage::test {
namespace {

template <class Value>
void put(std::string& bytes, std::size_t at, const Value& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

std::string elf_file(const ElfFile& file) {
    std::string strings(1, '\0');
    std::vector<Elf64_Dyn> entries;
    const auto add = [&](std::int64_t tag, const std::string& text) {
        if (!text.empty()) {
            Elf64_Dyn one{};
            one.d_tag = tag;
            one.d_un.d_val = strings.size();
            entries.push_back(one);
            strings += text + '\0';
        }
    };
    add(DT_SONAME, file.name);
    for (const std::string& needed : file.needed) {
        add(DT_NEEDED, needed);
    }
    for (const std::string& filter : file.filters) {
        add(DT_FILTER, filter);
    }
    for (const std::string& auxiliary : file.auxiliaries) {
        add(DT_AUXILIARY, auxiliary);
    }
    add(DT_AUDIT, file.audit);
    add(DT_RPATH, file.rpath);
    add(DT_RUNPATH, file.runpath);
    const std::size_t interpreter = strings.size();
    strings += file.interpreter + '\0';
    const std::uint16_t segments = file.interpreter.empty() ? 2 : 3;
    const std::size_t dynamic_at = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr);
    const std::size_t strings_at = dynamic_at + (entries.size() + 3) * sizeof(Elf64_Dyn);
    for (const auto& [tag, value] : std::array<std::pair<std::int64_t, std::uint64_t>, 3>{
             {{DT_STRTAB, strings_at}, {DT_STRSZ, strings.size()}, {DT_NULL, 0}}}) {
        Elf64_Dyn one{};
        one.d_tag = tag;
        one.d_un.d_val = value;
        entries.push_back(one);
    }
    std::string bytes(strings_at, '\0');
    Elf64_Ehdr head{};
    std::memcpy(static_cast<unsigned char*>(head.e_ident), ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = segments;
    put(bytes, 0, head);
    std::array<Elf64_Phdr, 3> table{};
    table[0].p_type = PT_LOAD;
    table[0].p_filesz = strings_at + strings.size();
    table[1].p_type = PT_DYNAMIC;
    table[1].p_offset = dynamic_at;
    table[1].p_filesz = entries.size() * sizeof(Elf64_Dyn);
    table[2].p_type = PT_INTERP;
    table[2].p_offset = strings_at + interpreter;
    table[2].p_filesz = file.interpreter.size() + 1;
    std::memcpy(bytes.data() + sizeof head, table.data(), segments * sizeof(Elf64_Phdr));
    std::memcpy(bytes.data() + dynamic_at, entries.data(), entries.size() * sizeof(Elf64_Dyn));
    return bytes + strings + file.rest;
}

}  // namespace stage::test
