// A directory of a test's own, gone with the test.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace stage {

class Scratch {
  public:
    Scratch() {
        std::string name = std::filesystem::temp_directory_path() / "stagecast-unit.XXXXXX";
        path_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }

    std::string directory(const std::string& name, mode_t mode, uid_t owner = 0) const {
        const std::string path = path_ + "/" + name;
        std::filesystem::create_directory(path);
        static_cast<void>(::chmod(path.c_str(), mode));
        if (owner != 0) {
            static_cast<void>(::chown(path.c_str(), owner, owner) == 0);
        }
        return path;
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{path_ + "/" + name} << text;
        return path_ + "/" + name;
    }
    void link(const std::string& target, const std::string& name) const {
        std::filesystem::create_symlink(target, path_ + "/" + name);
    }

  private:
    std::string path_;
};

}  // namespace stage
