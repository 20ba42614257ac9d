#pragma once

#include "container/container_files.h"
#include "container/integrity.h"
#include "waste/verifier.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// The part of a verification that sees whole files: compares them with integrity.json and digests them for a new
// one, where that is asked for. Banks are not read here: who reads their records takes a digester for each and gives it
// back filled. Nor is the trunk, where its tensors' reader takes one.
class FilePass {
public:
    // Reads the container's integrity.json, if it has one; `tell` hears of every difference, and if it is malformed.
    FilePass(const ContainerFiles& files, const VerifyOptions& options, std::function<void(const Damage&)> tell);

    [[nodiscard]] bool hasIntegrity() const { return m_integrity.has_value(); }

    // Empty: nobody wants to know the digest of what the records of this bank are.
    [[nodiscard]] std::optional<FileDigester> begin(const BankEntry& bank) const;
    void end(const BankEntry& bank, FileDigester digester);
    // The same for trunk.bin, which compareContents() then leaves out.
    [[nodiscard]] std::optional<FileDigester> beginTrunk();
    void endTrunk(FileDigester digester);

    // Sizes of files that are stated and there, banks included: no content is read.
    void compareSizes();
    // Bytes that compareContents() will read.
    [[nodiscard]] std::uint64_t contentBytes() const;
    // Everything that is not read as records, but for files of which damage is known already. `read` as in
    // digestFile().
    [[nodiscard]] Status compareContents(
        const std::set<std::string>& damaged, const std::function<Status(std::uint64_t bytes)>& read);

    // Writes integrity.json from everything that was digested.
    [[nodiscard]] Status write() const;

private:
    [[nodiscard]] const FileDigest* statedFor(const std::string& file) const; // null: nothing, or it may change
    [[nodiscard]] std::optional<FileDigester> digesterFor(const std::string& file) const;
    void take(const std::string& file, FileDigest actual);
    [[nodiscard]] std::vector<std::string> contentFiles() const;
    // Whether the records of a bank are the whole file; somebody may have appended to it, which harms nobody.
    [[nodiscard]] bool isWholeBank(std::string_view file) const;
    void tellDifference(
        const std::string& file, std::string_view reason, std::uint64_t offset, const std::string& what);

    const ContainerFiles& m_files;
    const VerifyOptions& m_options;
    const std::function<void(const Damage&)> m_tell;
    std::optional<Integrity> m_integrity; // what is stated
    bool m_trunkIsTaken = false;
    Integrity m_digested; // what was found, with VerifyOptions::writeIntegrity
};

} // namespace waste
