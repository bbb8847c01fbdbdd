// Makes small programs and libraries that can be read, if not run.
#pragma once

#include <string>
#include <vector>

namespace stage::test {

struct ElfFile {
    std::string interpreter{};  ///< For a program; a library has none.
    std::string name{};         ///< DT_SONAME.
    std::vector<std::string> needed{};
    std::vector<std::string> filters{};      ///< DT_FILTER.
    std::vector<std::string> auxiliaries{};  ///< DT_AUXILIARY.
    std::string audit{};
    std::string rpath{};
    std::string runpath{};
    std::string rest{};  ///< Behind it, so that two differ.
};

[[nodiscard]] std::string elf_file(const ElfFile& file);

/// The loader of this machine's programs.
inline constexpr const char* kSystemLoader = "/lib64/ld-linux-x86-64.so.2";

}  // namespace stage::test
