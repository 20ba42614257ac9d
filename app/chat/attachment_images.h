#pragma once

#include "host/conversation.h"
#include "host/picture_viewer.h"

#include <QQuickImageProvider>
#include <QString>

#include <cstdint>
#include <filesystem>
#include <string>

namespace waste::app {

// Pictures of conversations for the window, as image://attachment/CONVERSATION/SHA256: local files of the
// store and nothing else, as the model's own decoder reads them: whatever else Qt's plugins could read, SVG with its
// links above all, is no business of a picture that somebody sent. Qt asks on a thread of its own.
class AttachmentImages : public QQuickImageProvider {
public:
    static constexpr const char* kName = "attachment";

    AttachmentImages(std::filesystem::path dataFolder, host::PictureViewer& viewer);

    QImage requestImage(const QString& id, QSize* size, const QSize& requestedSize) override;

private:
    const std::filesystem::path m_dataFolder;
    host::PictureViewer& m_viewer;
};

QString attachmentUrl(const std::string& conversationId, const std::string& sha256);
// "640 × 480, 252 positions"; 0 positions are not said.
QString pictureDetails(const host::Block& picture);

} // namespace waste::app
