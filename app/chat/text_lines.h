#pragma once

#include <QObject>
#include <QPointer>
#include <QQuickTextDocument>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// The line height of a TextEdit, which Qt Quick gives only to Text, and how far its lists are indented. GUI thread
// only.
class TextLines : public QObject {
    Q_OBJECT
    QML_ELEMENT
    Q_PROPERTY(QQuickTextDocument* document READ document WRITE setDocument NOTIFY documentChanged FINAL)
    Q_PROPERTY(double height READ height WRITE setHeight NOTIFY heightChanged FINAL) // pixels, at least; 0: natural
    Q_PROPERTY(double indent READ indent WRITE setIndent NOTIFY indentChanged FINAL) // of a list in pixels; 0: Qt's

public:
    using QObject::QObject;

    [[nodiscard]] QQuickTextDocument* document() const { return m_document; }
    void setDocument(QQuickTextDocument* document);
    [[nodiscard]] double height() const { return m_height; }
    void setHeight(double height);
    [[nodiscard]] double indent() const { return m_indent; }
    void setIndent(double indent);

Q_SIGNALS:
    void documentChanged();
    void heightChanged();
    void indentChanged();

private:
    void apply();

    QPointer<QQuickTextDocument> m_document;
    double m_height = 0;
    double m_indent = 0;
};

} // namespace waste::app
