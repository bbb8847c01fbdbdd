// Owns an array of pmix_info_t, filled and freed by PMIx' own macros.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>

namespace stage::pmix_host {

class InfoList {
  public:
    /// Allocates space for `count` entries, at least one.
    explicit InfoList(std::size_t count);
    InfoList(const InfoList&) = delete;
    InfoList& operator=(const InfoList&) = delete;
    ~InfoList();

    InfoList& add(const char* key, std::uint32_t number);
    InfoList& add_size(const char* key, std::size_t number);
    InfoList& add_rank(const char* key, pmix_rank_t rank);
    InfoList& add_flag(const char* key, bool flag);
    /// Adds an array of one process; the rank PMIX_RANK_WILDCARD stands for its whole
    /// namespace.
    InfoList& add_process(const char* key, const pmix_proc_t& process);
    InfoList& add(const char* key, const std::string& text);
    /// Adds a copy of what PMIx_generate_regex() or PMIx_generate_ppn() made.
    InfoList& add_regex(const char* key, const char* regex);

    [[nodiscard]] pmix_info_t* data() { return infos_; }
    [[nodiscard]] std::size_t size() const { return used_; }

  private:
    void load(const char* key, const void* value, pmix_data_type_t type);

    pmix_info_t* infos_ = nullptr;
    std::size_t room_;
    std::size_t used_ = 0;
};

}  // namespace stage::pmix_host
